"""A nightly run by Airflow, with SparkSubmitOperator of apache-airflow-providers-apache-spark: adapt it, and put it
into the DAG folder. JOB is the folder of docs/how-to-spark-submit.md, with the zip, the script and the properties.

A night that was cut off is tried again; spark-submit's exit codes do not come through the operator, so bad input and a
refusal are tried again, too: they end at once, and change nothing.
"""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

JOB = "/opt/kafka-rewind"

with DAG(
    dag_id="kafka_rewind_nightly",
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 1, "retry_delay": timedelta(minutes=5), "execution_timeout": timedelta(hours=6)},
) as dag:
    SparkSubmitOperator(
        task_id="nightly",
        conn_id="spark_default",
        application=f"{JOB}/submit.py",
        application_args=["nightly", "s3://kafka-logs/prod-eu", "--warehouse", "s3a://warehouses/kafka-rewind"],
        py_files=f"{JOB}/kafka-rewind.zip",
        properties_file=f"{JOB}/spark-submit.properties",
    )
