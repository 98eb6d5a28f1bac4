# The tour in a container:
#   docker build --tag assay .
#   docker run --rm --user "$(id -u)" --volume "$PWD:/audits" assay
# For models behind endpoints add --build-arg EXTRAS=api; for models of transformers EXTRAS=hf, which adds torch (for its
# smaller build without CUDA also --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cpu: its file is not checked
# against a hash, everything else is).

FROM python:3.12-slim AS build
ARG EXTRAS=""
ARG TORCH_INDEX=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# As the Makefile does: pip at its pinned version first, what builds the package apart from what runs it, and only files
# whose hashes constraints.txt has.
RUN sed -n '/^pip==/,/[^\\]$/p' constraints.txt > pip.txt \
 && hashed="install --require-hashes --only-binary :all:" \
 && python -m venv /opt/build && /opt/build/bin/pip $hashed --requirement pip.txt \
 && python -m venv /opt/assay && /opt/assay/bin/pip $hashed --requirement pip.txt \
 && /opt/build/bin/pip $hashed --constraint constraints.txt hatchling \
 && /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/assay/bin/pip install --no-deps /wheels/*.whl \
 && if [ -n "$TORCH_INDEX" ]; then \
      /opt/assay/bin/pip install --no-deps --index-url "$TORCH_INDEX" "$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' constraints.txt)"; fi \
 && /opt/assay/bin/pip $hashed --constraint constraints.txt "assay-bias${EXTRAS:+[$EXTRAS]}"

FROM python:3.12-slim
COPY --from=build /opt/assay /opt/assay
# Runs, stored answers and downloaded data are all in /audits: mount a folder there to keep them. Any user may write to it.
RUN useradd --no-create-home --home-dir /audits auditor && mkdir --mode 1777 /audits
ENV PATH=/opt/assay/bin:$PATH HOME=/audits
WORKDIR /audits
USER auditor
ENTRYPOINT ["assay"]
CMD ["run"]
