# Kafka Rewind with all that its commands need: docker build -t kafka-rewind . ; docker run --rm kafka-rewind --help
#   docker run --rm -v /var/log/kafka:/logs:ro -v kafka-rewind:/warehouse kafka-rewind nightly /logs --warehouse /warehouse
FROM eclipse-temurin:17-jre AS java

FROM python:3.11-slim AS wheel
COPY . /source
WORKDIR /source
RUN python -m jobs.package /wheel

FROM python:3.11-slim
COPY --from=java /opt/java/openjdk /opt/java/openjdk
ENV JAVA_HOME=/opt/java/openjdk PATH=/opt/java/openjdk/bin:$PATH GX_ANALYTICS_ENABLED=false
RUN apt-get update && apt-get install -y --no-install-recommends procps && rm -rf /var/lib/apt/lists/*
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir "$(ls /wheel/*.whl)[spark]" && useradd --create-home rewind && mkdir /warehouse && chown rewind /warehouse
USER rewind
# Delta's jars, so that no night needs the network
RUN python -c "from jobs.session import session; session().__enter__().stop()"
ENTRYPOINT ["kafka-rewind"]
CMD ["--help"]
