# syntax=docker/dockerfile:1
# One image for every unit: `docker run … novamem web | worker | scheduler | upgrade`, or any other command of script/manage.
# The embedding model comes with the Python packages: nothing is fetched at run time. docs/operations.md says how to run it.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
# Where torch comes from, if not from where script/env says.
ARG TORCH_INDEX
COPY requirements.txt requirements.lock ./
COPY script/env script/env
RUN root=/app PIP_NO_CACHE_DIR=1 sh -c '. script/env' \
    && .venv/bin/pip uninstall --yes pip \
    && rm -r .venv/lib/python3.11/site-packages/torch/test .venv/lib/python3.11/site-packages/torch/include

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 novamem \
    && useradd --uid 10001 --gid novamem --no-create-home --home-dir /data --shell /usr/sbin/nologin novamem \
    && install -d -o novamem -g novamem -m 700 /data
WORKDIR /app
COPY --from=build /app/.venv .venv
COPY . .
# Whoever runs it may write no compiled modules here, and each process would compile the product anew.
RUN .venv/bin/python -m compileall -q manage.py novamem memories conflicts
ENV HOST=0.0.0.0 PORT=8000 NOVAMEM_DATA_DIR=/data
ENV HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD [".venv/bin/python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["script/manage"]
CMD ["web"]
