# The tour in a container:
#   docker build --tag assay .
#   docker run --rm --user "$(id -u)" --volume "$PWD:/audits" assay
# For models behind endpoints add --build-arg EXTRAS=api; for models of transformers EXTRAS=hf, which adds torch (for its
# smaller build without CUDA also --build-arg PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu).

FROM python:3.12-slim AS build
ARG EXTRAS=""
ARG PIP_EXTRA_INDEX_URL=""
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/assay \
 && /opt/assay/bin/pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt ".${EXTRAS:+[$EXTRAS]}"

FROM python:3.12-slim
COPY --from=build /opt/assay /opt/assay
# Runs, stored answers and downloaded data are all in /audits: mount a folder there to keep them. Any user may write to it.
RUN useradd --no-create-home --home-dir /audits auditor && mkdir --mode 1777 /audits
ENV PATH=/opt/assay/bin:$PATH HOME=/audits
WORKDIR /audits
USER auditor
ENTRYPOINT ["assay"]
CMD ["run"]
