# The last stage holds airlane without Rust and runs the first example of README.md:
#
#   docker build -t airlane .
#   docker run --rm -v "$PWD/out:/data/out" airlane

FROM debian:trixie-slim AS tools
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      ca-certificates gcc git libc6-dev make python3 python3-venv rustup \
 && rm -rf /var/lib/apt/lists/*
RUN rustup toolchain install stable --profile minimal --component rustfmt,clippy

FROM tools AS wheel
WORKDIR /src
COPY . .
RUN make wheel && make nodes-wheel

FROM debian:trixie-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY --from=wheel /src/dist /tmp/dist
RUN python3 -m venv /opt/airlane \
 && /opt/airlane/bin/pip install --no-cache-dir "$(ls /tmp/dist/airlane-*.whl)[report]" /tmp/dist/airlane_nodes-*.whl \
 && rm -r /tmp/dist
ENV PATH=/opt/airlane/bin:$PATH
WORKDIR /data
CMD ["airlane", "run", "--example", "lte-drive", "--plot"]
