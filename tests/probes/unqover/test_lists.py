"""Word lists in the authors' format: what is read from them, and that a change is noticed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import small_lists
from assay.probes.unqover.lists import FILES, PACKAGED, read_lists
from assay.probes.unqover.plan import cell_table
from raising import raises


def read(folder: Path, cls: str = "religion", *, masked: bool = False, header: bool = False, family: str = ""):
    return read_lists(cls, masked=masked, header=header, family=family, folder=str(folder))


def test_subjects_attributes_and_templates(tmp_path):
    lists = read(small_lists.write(tmp_path))
    assert [subject.name for subject in lists.subjects] == ["Muslim", "Christian", "Jewish", "Hindu", "Atheist"]
    assert lists.split is None
    assert {subject.cluster for subject in lists.subjects} == {"None"}
    assert [(a.text, a.cluster, a.kind) for a in lists.attributes] == [
        ("were late", "time", "p_act"),
        ("were slow", "time", "p_act"),
        ("were sad", "mood", "p_act"),
    ]
    assert lists.attributes[2].forms == {
        "p_act": "were sad",
        "p_act:neg": "were glad",
        "p_act-single": "was sad",
        "p_act-single:neg": "was glad",
    }
    assert [template.head for template in lists.templates] == ["p_act-single", "p_act"]
    assert lists.header == ""


def test_two_groups_of_subjects(tmp_path):
    lists = read(small_lists.write(tmp_path), "gender")
    assert lists.split == 5
    assert [subject.cluster for subject in lists.subjects] == ["female"] * 5 + ["male"] * 5


def test_demonyms_and_attributes_of_places(tmp_path):
    lists = read(small_lists.write(tmp_path), "nationality")
    assert lists.subjects[0].forms == {"subj": "Iran", "subj:dem": "Iranian"}
    assert lists.subjects[0].cluster == "Asia"
    assert [template.slot for template in lists.templates] == ["subj", "subj:dem"]
    assert [a.kind for a in lists.attributes] == ["l_act"] * 2 + ["p_act"] * 3


def test_attributes_that_no_template_asks_about_are_left_out(tmp_path):
    slots = small_lists.FILES["slots/country_noact"].split("\n")[1]
    lists = read(small_lists.write(tmp_path, {"slots/country_noact": slots}), "nationality")
    assert {a.kind for a in lists.attributes} == {"p_act"}


def test_comments_blank_lines_windows_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path):
    plain = read(small_lists.write(tmp_path / "a"))
    changes = {
        name: "\ufeff# a comment\r\n\r\n   \r\n" + text.replace("\n", "  \r\n")
        for name, text in small_lists.FILES.items()
        if "religion" in name
    }
    odd = read(small_lists.write(tmp_path / "b", changes))
    assert (odd.subjects, odd.attributes, odd.templates) == (plain.subjects, plain.attributes, plain.templates)
    assert odd.digest != plain.digest


def test_the_header_is_the_first_line_that_is_no_comment(tmp_path):
    small_lists.write(tmp_path, {"fillers/newsqa": "# a comment\n\n[aug] yes no  [text] (CNN) --\n"})
    assert read(tmp_path, header=True).header == "[aug] yes no  [text] (CNN) --"


def test_lists_of_a_family_of_models(tmp_path):
    small_lists.write(tmp_path, {"nouns/subjects/religion_bert": "[subj] Hindu\n[subj] Jewish\n"})
    lists = read(tmp_path, masked=True, family="bert")
    assert [subject.name for subject in lists.subjects] == ["Hindu", "Jewish"]
    with raises("missing-file", file=tmp_path.resolve() / "nouns/subjects/religion_roberta"):
        read(tmp_path, masked=True, family="roberta")


def test_the_digest_names_content_and_not_the_folder(tmp_path):
    one, two = (read(small_lists.write(tmp_path / name)) for name in "ab")
    assert one.digest == two.digest
    assert one.files == two.files
    assert list(one.files) == ["nouns/subjects/religion", "activities/biased_religion", "slots/religion_noact"]
    assert read(tmp_path / "a", masked=True).digest != one.digest


@pytest.mark.parametrize("name", ["nouns/subjects/religion", "activities/biased_religion", "slots/religion_noact"])
def test_a_changed_file_is_read_again(tmp_path, name):
    before = read(small_lists.write(tmp_path))
    small_lists.write(tmp_path, {name: small_lists.FILES[name] + "# changed\n"})
    after = read(tmp_path)
    assert after.digest != before.digest
    assert [key for key in after.files if after.files[key] != before.files[key]] == [name]


def test_a_file_of_another_class_does_not_matter(tmp_path):
    before = read(small_lists.write(tmp_path)).digest
    small_lists.write(tmp_path, {"nouns/subjects/country": "[subj] Iran\n[subj] Peru\n"})
    assert read(tmp_path).digest == before


@pytest.mark.parametrize("masked", [False, True], ids=["span", "mask"])
@pytest.mark.parametrize("cls", FILES)
def test_the_packaged_lists_have_the_counts_that_their_readme_gives(cls, masked):
    lists = read_lists(cls, masked=masked, header=False)
    table = cell_table(lists, None, 0)
    counts = (
        len(lists.subjects),
        len(lists.templates),
        len(lists.attributes),
        len(table.pairs),
        len(table.combinations),
        len(table),
        4 * len(table),
    )
    row = " | ".join([cls, "mask" if masked else "span", *(f"{count:,}" for count in counts)])
    assert f"| {row} |" in (PACKAGED / "README.md").read_text(encoding="utf-8")


def test_every_class_in_the_readme_is_there():
    rows = re.findall(r"^\| (\w+) \| (span|mask) \|", (PACKAGED / "README.md").read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted((cls, form) for cls in FILES for form in ("span", "mask"))
