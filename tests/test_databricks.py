"""The bundle for Databricks and its relatives: published types accept it, and its tasks do what its comments say."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from jobs import databricks, submit
from jobs.cli import main as cli
from jobs.session import check_classic
from udfs.errors import NoSpark

ROOT = Path(__file__).resolve().parents[1]
BUNDLE: dict[str, Any] = yaml.safe_load((ROOT / "databricks.yml").read_text())
JOB = BUNDLE["resources"]["jobs"]["nightly"]
TASKS = {task["task_key"]: task for task in JOB["tasks"]}
commands = cli.commands
SETUP = (ROOT / "setup.cfg").read_text()


def test_the_published_types_of_jobs_accept_it() -> None:
    from databricks.bundles.jobs import Job

    job = Job.from_dict(JOB)
    assert [task.task_key for task in job.tasks] == ["nightly", "verdict"]
    with pytest.raises(ValueError, match="retries"):
        Job.from_dict({**JOB, "tasks": [{**JOB["tasks"][0], "retries": 1}]})


def test_each_variable_is_declared_and_used() -> None:
    text = (ROOT / "databricks.yml").read_text()
    assert set(re.findall(r"\$\{var\.(\w+)}", text)) == set(BUNDLE["variables"])
    assert {f"{{{{job.parameters.{p['name']}}}}}" for p in JOB["parameters"]} <= set(
        TASKS["nightly"]["python_wheel_task"]["parameters"]
    )
    assert set(BUNDLE["targets"]) == {"dev", "prod"}


def test_its_wheel_has_its_entry_points() -> None:
    build = BUNDLE["artifacts"]["wheel"]["build"].split()
    assert (build[1:3], build[3]) == (["-m", "jobs.package"], "dist")
    for task in TASKS.values():
        wheel = task["python_wheel_task"]
        assert f"name = {wheel['package_name']}\n" in SETUP
        (script,) = re.findall(rf"^ *{wheel['entry_point']} = (\S+)$", SETUP, re.MULTILINE)
        module, _, function = script.partition(":")
        assert callable(getattr(import_module(module), function))
        assert task["libraries"][0]["whl"] == "./dist/*.whl"


def test_only_what_may_pass_is_tried_again() -> None:
    assert (TASKS["nightly"]["max_retries"], TASKS["verdict"]["max_retries"]) == (2, 0)
    assert TASKS["verdict"]["depends_on"] == [{"task_key": "nightly"}]
    assert TASKS["verdict"]["python_wheel_task"]["parameters"] == [
        f"{{{{tasks.nightly.values.{databricks.EXIT_CODE}}}}}"
    ]


@pytest.fixture
def task_values(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a task leaves to others, by a stand-in for Databricks' own module."""
    values: dict[str, Any] = {}
    runtime = ModuleType("databricks.sdk.runtime")
    task_values = SimpleNamespace(set=lambda key, value: values.update({key: value}))
    runtime.dbutils = SimpleNamespace(jobs=SimpleNamespace(taskValues=task_values))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "databricks.sdk", ModuleType("databricks.sdk"))
    monkeypatch.setitem(sys.modules, "databricks.sdk.runtime", runtime)
    return values


@pytest.mark.parametrize("code", [0, 2, 3])
def test_a_final_outcome_is_left_to_the_verdict(
    code: int, task_values: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(databricks, "run", lambda _: code)
    databricks.task()
    assert task_values == {"exit_code": code}
    monkeypatch.setattr(sys, "argv", ["verdict", json.dumps(code)])
    if code == 0:
        databricks.verdict()
        return
    with pytest.raises(SystemExit) as ended:
        databricks.verdict()
    assert ended.value.code == code
    assert f"exit code {code}" in capsys.readouterr().err


def test_a_failure_fails_the_task(task_values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databricks, "run", lambda _: 4)
    with pytest.raises(SystemExit) as ended:
        databricks.task()
    assert (ended.value.code, task_values) == (4, {})


def test_the_console_script_returns_where_all_went_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a host's Python calls it: any SystemExit, with 0 too, would be a failure to it."""
    monkeypatch.setattr(sys, "argv", ["kafka-rewind", "--version"])
    submit.main()  # and nothing is raised
    monkeypatch.setattr(sys, "argv", ["kafka-rewind", "nightly", "/no/such/folder"])
    with pytest.raises(SystemExit) as ended:
        submit.main()
    assert ended.value.code == 2


def test_spark_connect_is_refused_in_a_sentence() -> None:
    connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(NoSpark, match="dedicated access"):
        check_classic(connect)
    check_classic(type("SparkSession", (), {"__module__": "pyspark.sql.session"})())


# ---- other schedulers ------------------------------------------------------------------------------------------------
def test_the_airflow_example_submits_what_there_is() -> None:
    """The arguments of its operator are files that docs/how-to-spark-submit.md names, and a command line of ours."""
    tree = ast.parse((ROOT / "conf" / "airflow_dag.py").read_text())
    (call,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "SparkSubmitOperator"
    )
    values = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    page = (ROOT / "docs" / "how-to-spark-submit.md").read_text()
    for name in ("application", "py_files", "properties_file"):
        assert values[name].rpartition("/")[2].strip("'") in page
    arguments = ast.literal_eval(values["application_args"])
    with commands["nightly"].make_context("nightly", arguments[1:]) as context:
        assert (arguments[0], context.params["logs"]) == ("nightly", ("s3://kafka-logs/prod-eu",))


def test_the_units_of_systemd_start_a_night() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    unit.read([ROOT / "conf" / "kafka-rewind.service", ROOT / "conf" / "kafka-rewind.timer"])
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/bin/kafka-rewind")
    with commands["nightly"].make_context("nightly", arguments[1:]) as context:
        assert context.params["root"].startswith("/var/lib/" + unit["Service"]["StateDirectory"])
    assert unit["Service"]["RestartPreventExitStatus"].split() == [str(code) for code in databricks.FINAL]


def test_the_image_installs_an_extra_that_there_is() -> None:
    text = (ROOT / "Dockerfile").read_text()
    (extra,) = re.findall(r"\.whl\)\[(\w+)]", text)
    assert re.search(rf"^{extra} =$", SETUP, re.MULTILINE)
    assert 'ENTRYPOINT ["kafka-rewind"]' in text
