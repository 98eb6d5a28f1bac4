// Lets readers sort, filter, pick and search what is on the page already. Everything is there without it.
// Text that comes from data is only ever set as text, never as markup.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const SVG = document.querySelector("svg")?.namespaceURI; // so that no address is on the page
  const svg = (tag, attributes, text = "") => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };
  const figures = (value) => (Number.isInteger(value) ? value.toLocaleString("en-US") : value.toPrecision(3)).replace(/^(-?\d*\.\d*?)0+$/, "$1").replace(/\.$/, "").replace("-", "−");
  // The tools of a chart; what is in one of several parts of it that readers pick from has its own.
  const toolsOf = (element) => {
    const frame = element.closest(".chart-frame"), part = element.parentElement.closest("[data-name]");
    return frame && !(part && frame.contains(part)) ? frame.querySelector(".tools") : null;
  };
  let named = 0;

  // --- where the reader is, in the address ----------------------------------------------------------------------
  // After the anchor, "?" and what was sorted, filtered, picked and opened. Each part says under a key what to keep
  // (nothing where it is as it was), and takes it back.
  const parts = new Map();
  const remember = (key, kept, restore) => { parts.set(key, { kept, restore }); };
  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return ""; } }; // an address may be damaged
  const address = () => {
    const [anchor, query = ""] = location.hash.slice(1).split("?");
    return { anchor: decoded(anchor), query: new URLSearchParams(query) };
  };
  let restoring = false;
  const noted = (push = false, anchor = address().anchor) => {
    if (restoring) return;
    const query = new URLSearchParams();
    for (const [key, part] of parts) if (part.kept()) query.set(key, part.kept());
    const hash = `#${encodeURIComponent(anchor)}${query.size ? `?${query}` : ""}`;
    if (hash === (location.hash || "#")) return;
    if (push) history.pushState(null, "", hash);
    else history.replaceState(history.state, "", hash);
  };
  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(() => noted(), 150); }; // browsers stop pages that write each key
  const leaving = () => { noted(); history.replaceState({ y: scrollY }, ""); }; // what Back goes back to
  const pickers = new Map(); // what shows a part of which readers pick one
  const unfold = (element) => {
    for (let box = element; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
      pickers.get(box)?.();
    }
  };
  const restored = () => {
    const { anchor, query } = address(), target = document.getElementById(anchor), y = history.state?.y;
    restoring = true;
    for (const [key, part] of parts) try { part.restore(query.get(key) ?? ""); } catch { part.restore(""); }
    if (y === undefined) unfold(target);
    restoring = false;
    if (y === undefined) target?.scrollIntoView();
    else scrollTo(0, y);
  };

  // A labelled control; `tools` may be missing, then it goes before `beside`.
  function control(element, label, control) {
    control.id = control.id || `control-${++named}`;
    const box = make("span", { className: "control" }, make("label", { htmlFor: control.id, textContent: label }), control);
    const tools = toolsOf(element);
    if (tools) tools.prepend(box);
    else element.before(make("div", { className: "tools" }, box));
    return control;
  }

  const search = (element, label, changed) => {
    const input = control(element, label, make("input", { type: "search", autocomplete: "off", spellcheck: false }));
    input.addEventListener("input", () => { changed(input.value.trim().toLowerCase()); soon(); });
    remember(input.id, () => input.value, (text) => { if (input.value !== text) { input.value = text; changed(text.trim().toLowerCase()); } });
    return input;
  };

  const choose = (element, label, options, changed) => {
    const select = control(element, label, make("select", {}, ...options.map((text, value) => make("option", { value, textContent: text }))));
    select.addEventListener("change", () => { changed(Number(select.value)); soon(); });
    remember(select.id, () => (select.value === "0" ? "" : select.value), (value) => { if (select.value !== (value || "0")) { select.value = value || "0"; changed(Number(select.value)); } });
    return select;
  };

  // --- values on hover, focus and touch -------------------------------------------------------------------------
  const tip = document.getElementById("tip");
  function showTip(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 4))}px`;
    tip.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
  }
  const hideTip = () => { tip.hidden = true; };
  const tipped = (event) => event.target.closest?.("[data-tip]");
  const saidBy = (element) => element.dataset.tip || element.getAttribute("aria-label");
  for (const name of ["pointermove", "pointerdown"]) document.addEventListener(name, (event) => { // a tap does not move
    const element = tipped(event);
    if (element) showTip(saidBy(element), event.clientX, event.clientY);
    else if (!event.target.closest?.("[data-heat] svg")) hideTip();
  });
  document.addEventListener("focusin", (event) => {
    const element = tipped(event);
    if (!element) return hideTip();
    const box = element.getBoundingClientRect();
    showTip(saidBy(element), box.left + box.width / 2, box.bottom - 12);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  addEventListener("scroll", hideTip, { passive: true });

  // --- sorting --------------------------------------------------------------------------------------------------
  const number = /^[<~]?\s*[−-]?[\d,]*\.?\d+(e[−-]?\d+)?/;
  function valueOf(row, column) {
    const cell = row?.cells[column];
    if (!cell) return null;
    if ("v" in cell.dataset) return cell.dataset.v === "" ? null : Number(cell.dataset.v);
    const text = cell.textContent.trim();
    const found = text.replaceAll("−", "-").match(number);
    if (found) return Number(found[0].replace(/[<~,\s]/g, "")) * (text.includes("%") ? 0.01 : 1);
    return text === "" || text.startsWith("–") ? null : text.toLowerCase(); // perhaps with the mark of a note
  }
  function compared(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null); // what is undefined stays last
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  }
  // data-sort: rows within each body, under its heading row. data-sort="groups": whole bodies, by their first row.
  all("table[data-sort]").forEach((table, place) => {
    const heads = all("thead tr:last-child th", table);
    const buttons = new Map();
    const was = [...table.tBodies].map((body) => [body, [...body.rows]]);
    const back = () => {
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      for (const [body, rows] of was) { table.append(body); body.append(...rows); }
    };
    const kept = () => {
      const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
      return column < 0 ? "" : `${column} ${heads[column].getAttribute("aria-sort")}`;
    };
    remember(`sort-${place + 1}`, kept, (wanted) => {
      if (wanted === kept()) return;
      back();
      const [column, order] = wanted.split(" ");
      for (let clicks = wanted ? (order === "ascending" ? 2 : 1) : 0; clicks > 0; clicks--) buttons.get(Number(column))?.click();
    });
    heads.forEach((head, column) => {
      if (!head.textContent.trim() || head.matches(".drawing") || head.querySelector("svg, .unseen")) return;
      const button = make("button", { type: "button", className: "sort" }, ...head.childNodes);
      head.append(button);
      buttons.set(column, button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const sign = down ? -1 : 1;
        if (table.dataset.sort === "groups") {
          const bodies = all("tbody:not(.whole)", table), after = table.querySelector("tbody.whole");
          bodies.sort((a, b) => compared(valueOf(a.rows[0], column), valueOf(b.rows[0], column), sign));
          bodies.forEach((body) => table.insertBefore(body, after));
        } else {
          for (const body of table.tBodies) {
            const rows = [...body.rows].filter((row) => !row.matches(".head, .more"));
            const last = body.querySelector(".more");
            rows.sort((a, b) => compared(valueOf(a, column), valueOf(b, column), sign));
            rows.forEach((row) => body.insertBefore(row, last));
          }
        }
        soon();
      });
    });
  });

  // --- filtering ------------------------------------------------------------------------------------------------
  // data-filter: rows. data-filter="groups": bodies.
  for (const table of all("table[data-filter]")) {
    const groups = table.dataset.filter === "groups";
    const items = groups ? all("tbody:not(.head)", table) : all("tbody tr:not(.head):not(.more)", table);
    if (items.length < 8) continue;
    search(table, "Filter", (wanted) => {
      for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(wanted);
      if (!groups) for (const body of table.tBodies) body.hidden = [...body.rows].every((row) => row.hidden || row.matches(".head, .more"));
    });
  }

  // --- picking one of several -----------------------------------------------------------------------------------
  for (const box of all("[data-pick]")) {
    const items = [...box.children].filter((child) => "name" in child.dataset);
    if (items.length < 2) continue;
    const pick = (chosen) => items.forEach((item, place) => {
      item.hidden = place !== chosen;
      if (item.tagName === "DETAILS") item.open = place === chosen;
    });
    const select = choose(box, box.dataset.pick, items.map((item) => item.dataset.name), pick);
    items.forEach((item, place) => pickers.set(item, () => { select.value = place; pick(place); }));
    pick(0);
  }

  // --- legends --------------------------------------------------------------------------------------------------
  // data-legend names a picture whose marks have data-key: the items of the legend become buttons that dim all others.
  for (const legend of all("[data-legend]")) {
    const marks = all("[data-key]", document.getElementById(legend.dataset.legend)), picked = new Set();
    for (const item of legend.children) {
      const button = make("button", { type: "button", className: "pick" }, ...item.childNodes);
      const press = (pressed) => button.setAttribute("aria-pressed", pressed);
      button.addEventListener("click", () => {
        const { key } = item.dataset;
        press(!picked.delete(key) && Boolean(picked.add(key)));
        for (const mark of marks) mark.classList.toggle("dim", picked.size > 0 && !picked.has(mark.dataset.key));
      });
      press(false);
      item.append(button);
    }
  }
  // What a mark's title says without a script, its tip says with one.
  for (const title of all("[data-tip] > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }

  // --- heat maps ------------------------------------------------------------------------------------------------
  const CELL = 15, STEPS = 5;
  const cut = (text, longest) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
  for (const box of all("[data-heat]")) {
    const data = JSON.parse(box.querySelector("script[type='application/json']").textContent);
    const picture = box.querySelector("svg.heat-map");
    const about = JSON.parse(box.dataset.about);
    const wide = picture.viewBox.baseVal.width, zoom = picture.getAttribute("width") / wide;
    const every = { rows: data.rows.map((_, i) => i), columns: data.columns.map((_, j) => j) };
    const state = { order: 0, rowText: "", columnText: "", rows: every.rows, columns: every.columns, at: [0, 0] };
    const mean = (i) => {
      const known = data.values[i].filter((value) => value !== null);
      return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : -Infinity;
    };
    const orders = [
      (rows) => rows,
      (rows) => [...rows].sort((a, b) => mean(b) - mean(a)),
      (rows) => [...rows].sort((a, b) => data.rows[a].localeCompare(data.rows[b])),
    ];
    const cursor = svg("rect", { class: "cursor", width: CELL, height: CELL, visibility: "hidden" });
    const drawn = () => {
      state.rows = orders[state.order](every.rows).filter((i) => data.rows[i].toLowerCase().includes(state.rowText));
      state.columns = every.columns.filter((j) => data.columns[j].toLowerCase().includes(state.columnText));
      const paths = new Map();
      state.rows.forEach((i, y) => state.columns.forEach((j, x) => {
        const value = data.values[i][j];
        if (value === null) return;
        const step = Math.sign(value) * Math.round(Math.min(STEPS, (STEPS * Math.abs(value)) / data.end));
        const colour = `h${step}${data.pale[i][j] === "1" ? " pale" : ""}`;
        paths.set(colour, `${paths.get(colour) ?? ""}M${data.left + CELL * x} ${data.top + CELL * y}h14v14h-14z`);
      }));
      const labels = svg("g", { class: "labels", "aria-hidden": "true" });
      state.rows.forEach((i, y) => labels.append(svg("text", { x: data.left - 5, y: data.top + CELL * (y + 0.75), "text-anchor": "end" }, cut(data.rows[i], 26))));
      state.columns.forEach((j, x) => labels.append(svg("text", { transform: `translate(${data.left + CELL * (x + 0.65)} ${data.top - 4}) rotate(-55)` }, cut(data.columns[j], 24))));
      picture.replaceChildren(...[...paths].map(([colour, cells]) => svg("path", { class: colour, d: cells })), labels, cursor);
      const height = data.top + CELL * Math.max(1, state.rows.length) + 4;
      picture.setAttribute("viewBox", `0 0 ${wide} ${height}`);
      picture.setAttribute("height", height * zoom);
    };
    const said = (y, x) => {
      const i = state.rows[y], j = state.columns[x];
      if (i === undefined || j === undefined) return null;
      const value = data.values[i][j];
      const lines = [`${data.rows[i]} · ${data.columns[j]}`, value === null ? "not known" : `${box.dataset.value} ${figures(value)}`];
      for (const [name, numbers] of Object.entries(data.beside)) if (numbers[i][j] !== null) lines.push(`${name} ${figures(numbers[i][j])}`);
      return lines.join("\n");
    };
    const saved = toolsOf(box)?.querySelector("a[data-save]");
    saved?.addEventListener("click", () => {
      const quoted = (cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
      const names = Object.keys(data.beside);
      const lines = [[box.dataset.row, box.dataset.column, box.dataset.value, ...names]];
      data.rows.forEach((row, i) => data.columns.forEach((column, j) => {
        if (data.values[i][j] !== null) lines.push([row, column, data.values[i][j], ...names.map((name) => data.beside[name][i][j] ?? "")]);
      }));
      saved.download = saved.dataset.save;
      saved.href = `data:text/csv;charset=utf-8,${encodeURIComponent(lines.map((line) => line.map((cell) => quoted(String(cell))).join(",")).join("\n") + "\n")}`;
    });
    const live = box.appendChild(make("p", { className: "unseen" }));
    live.setAttribute("aria-live", "polite");
    const place = (event) => {
      const frame = picture.getBoundingClientRect(), scale = picture.viewBox.baseVal.width / frame.width;
      return [Math.floor(((event.clientY - frame.top) * scale - data.top) / CELL), Math.floor(((event.clientX - frame.left) * scale - data.left) / CELL)];
    };
    const mark = ([y, x]) => {
      cursor.setAttribute("x", data.left + CELL * x - 0.5);
      cursor.setAttribute("y", data.top + CELL * y - 0.5);
      cursor.setAttribute("visibility", "visible");
    };
    const point = (event) => {
      const at = place(event), text = said(...at);
      if (!text) return hideTip();
      state.at = at;
      mark(at);
      showTip(text, event.clientX, event.clientY);
    };
    picture.addEventListener("pointermove", point);
    picture.addEventListener("pointerleave", () => { hideTip(); cursor.setAttribute("visibility", "hidden"); });
    const open = () => {
      const { rowKey, columnKey } = box.dataset, [y, x] = state.at;
      if (!rowKey || !said(y, x)) return;
      const row = data.rows[state.rows[y]], column = data.columns[state.columns[x]];
      const cell = rowKey === columnKey ? { [rowKey]: [row, column] } : { [rowKey]: row, [columnKey]: column };
      seeExamples({ run: box.closest("[data-uid]")?.dataset.uid ?? null, about: { ...about, ...cell } });
    };
    let tapped = "";
    picture.addEventListener("click", (event) => { // the first tap on a square shows its numbers, the second its examples
      const at = place(event), first = event.pointerType === "touch" && tapped !== at.join();
      tapped = at.join();
      if (first || !said(...at)) return point(event);
      state.at = at;
      open();
    });
    picture.addEventListener("keydown", (event) => {
      if (event.key === "Enter") return open();
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      const at = [state.at[0] + move[0], state.at[1] + move[1]], text = said(...at);
      if (!text) return;
      state.at = at;
      mark(at);
      live.textContent = text;
      const frame = cursor.getBoundingClientRect();
      showTip(text, frame.right, frame.bottom);
    });
    const again = (key) => (value) => { state[key] = value; state.at = [0, 0]; drawn(); };
    if (data.columns.length > 8) search(box, `Filter ${box.dataset.column}`, again("columnText"));
    if (data.rows.length > 8) search(box, `Filter ${box.dataset.row}`, again("rowText"));
    if (data.rows.length > 2) choose(box, "Order", ["similar together", "by mean", "by name"], again("order"));
    drawn();
  }

  // --- examples -------------------------------------------------------------------------------------------------
  let seeExamples = () => {};
  const list = document.getElementById("example-list");
  if (list) {
    const PAGE = 10;
    const abouts = JSON.parse(document.getElementById("example-abouts").textContent);
    const items = [...list.children].map((element, place) => ({ element, run: element.dataset.run, about: abouts[place], text: element.textContent.toLowerCase() }));
    const words = JSON.parse(document.getElementById("example-words").textContent);
    const tools = document.getElementById("example-tools");
    const several = (value) => (Array.isArray(value) ? value : [value]);
    const inWords = (value) => several(value).map((one) => (Object.hasOwn(words, one) ? words[one] : one)).join(" or ");
    const fits = (about, wanted) => Object.entries(wanted).every(([key, value]) => key in about && several(value).some((one) => several(about[key]).includes(one)));
    const state = { text: "", run: null, about: {}, shown: PAGE };
    const input = make("input", { type: "search", id: "example-search", autocomplete: "off", spellcheck: false });
    const runs = [...new Set(items.map((item) => item.run))];
    const from = make("select", { id: "example-run" }, make("option", { value: "", textContent: "everything" }),
      ...runs.map((run) => make("option", { value: run, textContent: items.find((item) => item.run === run).element.querySelector(".about").dataset.from })));
    const chips = make("span", { className: "chips" });
    const count = make("span", { className: "how", role: "status" });
    const more = make("button", { type: "button", textContent: "Show more" });
    const update = () => {
      const found = items.filter((item) => (!state.run || item.run === state.run) && fits(item.about, state.about) && item.text.includes(state.text));
      items.forEach((item) => { item.element.hidden = true; });
      found.slice(0, state.shown).forEach((item) => { item.element.hidden = false; });
      count.textContent = found.length ? `${Math.min(state.shown, found.length)} of ${found.length} shown` : "none of the stored examples fits";
      more.hidden = found.length <= state.shown;
      from.value = state.run ?? "";
      chips.replaceChildren(...Object.entries(state.about).map(([key, value]) => {
        const chip = make("button", { type: "button", className: "chip", textContent: `${key.replaceAll("_", " ")}: ${inWords(value)} ×` });
        chip.setAttribute("aria-label", `No longer only ${inWords(value)}`);
        chip.addEventListener("click", () => { delete state.about[key]; state.shown = PAGE; update(); soon(); });
        return chip;
      }));
    };
    const labelled = (label, element) => make("span", { className: "control" }, make("label", { htmlFor: element.id, textContent: label }), element);
    input.addEventListener("input", () => { state.text = input.value.trim().toLowerCase(); state.shown = PAGE; update(); soon(); });
    from.addEventListener("change", () => { state.run = from.value || null; state.about = {}; state.shown = PAGE; update(); soon(); });
    more.addEventListener("click", () => { state.shown += PAGE; update(); });
    tools.append(labelled("Search", input), ...(runs.length > 1 ? [labelled("From", from)] : []), chips, count);
    list.after(more);
    const reveal = document.getElementById("reveal");
    const veil = () => { list.inert = !reveal.checked; };
    reveal.addEventListener("change", veil);
    veil();
    remember("see", () => (state.run || state.text || Object.keys(state.about).length ? JSON.stringify({ run: state.run, about: state.about, text: input.value }) : ""), (kept) => {
      const { run = null, about = {}, text = "" } = kept ? JSON.parse(kept) : {};
      Object.assign(state, { run, about, text: text.trim().toLowerCase(), shown: PAGE });
      input.value = text;
      update();
    });
    seeExamples = ({ run, about }) => {
      leaving();
      Object.assign(state, { run, about: { ...about }, text: "", shown: PAGE });
      input.value = "";
      update();
      const heading = document.getElementById("examples");
      document.getElementById("examples-fold").open = true;
      noted(true, "examples");
      heading.scrollIntoView();
      (reveal.checked ? input : reveal).focus({ preventScroll: true });
    };
    document.addEventListener("click", (event) => {
      const link = event.target.closest("[data-see]");
      if (!link) return;
      event.preventDefault();
      seeExamples(JSON.parse(link.dataset.see));
    });
    update();
  }

  // --- light and dark -------------------------------------------------------------------------------------------
  const button = make("button", { type: "button", className: "theme" });
  const dark = () => {
    const set = document.documentElement.style.colorScheme;
    return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const tell = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", dark() ? "Light colours" : "Dark colours"); };
  button.addEventListener("click", () => { document.documentElement.style.colorScheme = dark() ? "light" : "dark"; tell(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
  document.querySelector("nav")?.append(button);

  // --- folded parts, links to rows, and the part of the page that is in view ---------------------------------------
  const folds = all("details[id]");
  remember("open", () => folds.filter((fold) => fold.open).map((fold) => fold.id).join(" "), (ids) => {
    const open = new Set(ids.split(" "));
    folds.forEach((fold) => { fold.open = open.has(fold.id); });
  });
  folds.forEach((fold) => fold.addEventListener("toggle", soon));
  for (const frame of all(".chart-frame[id]")) all("tbody tr:not(.head):not(.more)", frame).forEach((row, place) => {
    row.id = `${frame.id}-row-${place + 1}`;
    const link = make("a", { className: "here", href: `#${row.id}`, textContent: "#" });
    link.setAttribute("aria-label", "Link to this row");
    row.querySelector("th[scope=row], td")?.append(link);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']:not([data-see])");
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    leaving();
    const anchor = link.getAttribute("href").slice(1), target = document.getElementById(anchor);
    unfold(target);
    noted(true, anchor);
    target?.scrollIntoView();
    target?.querySelector("a, button, input, summary")?.focus({ preventScroll: true });
  });
  addEventListener("popstate", restored);
  const links = new Map(all("nav a[href^='#']").map((link) => [link.getAttribute("href").slice(1), link]));
  const watched = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  const seen = () => {
    const current = watched.filter((part) => part.getBoundingClientRect().top < innerHeight / 3).at(-1) ?? watched[0];
    for (const [id, link] of links) link.toggleAttribute("aria-current", id === current?.id);
  };
  addEventListener("scroll", seen, { passive: true });
  seen();
  if (location.hash) restored();
  document.documentElement.dataset.ready = "";
})();
