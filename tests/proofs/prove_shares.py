"""What share of decisions is judged, by kind and capture: `python tests/proofs/prove_shares.py DIR`.

DIR is what `prove_truth.py --keep DIR` left: a warehouse of all captures' logs, and one of their dumps; without it that
runs first. Prints a row for each capture, then one for each rule with the inputs that most often were missing. Fails if
elections are judged to less than their bar (ZooKeeper 0.95, KRaft's logs 0.9, dumps 1.0; failed ones 0.9), or if
anything is called violated.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from jobs.read.create_views import rows
from jobs.read.views import open_views
from tests.proofs import prove_truth
from udfs.kafka.decision_rules import KINDS

BARS = {"ZooKeeper": 0.95, "KRaft": 0.9, "dump": 1.0}
FAILED_BAR = 0.9
FAILED = "failed"
"""Elections that ended without a leader: their subject names the time, not a leader epoch."""
COLUMNS = ("elections", FAILED, "decisions", "invariants")
COUNTS = """
SELECT cluster, rule, subject LIKE '%failed at%' AS has_failed, verdict, count(*) AS verdicts,
    array_to_string(missing_inputs, ', ') AS missing
FROM verdicts GROUP BY ALL
"""


def share(counts: Counter[str]) -> str:
    """Share of verdicts that are not unknown, and how many there are."""
    return f"{1 - counts['unknown'] / counts.total():.3f} of {counts.total():,}" if counts else "-"


def prove(folder: Path) -> list[str]:
    """Print the shares of a kept warehouse; what is below its bar."""
    kinds = {rule.name: kind for kind, rules in KINDS.items() for rule in rules}
    by_cluster: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    by_rule: dict[str, Counter[str]] = defaultdict(Counter)
    missing: dict[str, Counter[str]] = defaultdict(Counter)
    with open_views(str(folder / "warehouse")) as views:
        counts = rows(views, COUNTS)
    for row in counts:
        kind = FAILED if row["has_failed"] else kinds[row["rule"]]
        by_cluster[row["cluster"]][kind][row["verdict"]] += row["verdicts"]
        by_rule[row["rule"]][row["verdict"]] += row["verdicts"]
        if row["verdict"] == "unknown":
            missing[row["rule"]][row["missing"]] += row["verdicts"]
    wrong = []
    print(f"\n| {folder.name} | {' | '.join(COLUMNS)} |\n|{' --- |' * (len(COLUMNS) + 1)}")
    for cluster, of_kinds in sorted(by_cluster.items()):
        print(f"| {cluster} | {' | '.join(share(of_kinds[kind]) for kind in COLUMNS)} |")
        mode = "dump" if folder.name == "dumps" else "KRaft" if cluster.startswith("kraft") else "ZooKeeper"
        for kind, bar in (("elections", BARS[mode]), (FAILED, FAILED_BAR)):
            unknown, total = of_kinds[kind]["unknown"], of_kinds[kind].total()
            if total and 1 - unknown / total < bar:
                wrong.append(f"{cluster}, {folder.name}: {kind} {share(of_kinds[kind])}, bar {bar}")
        violated = sum(of_kind["violated"] for of_kind in of_kinds.values())
        wrong += [f"{cluster}, {folder.name}: {violated} violated"] if violated else []
    print("\n| rule | judged | inputs that were missing |\n| --- | --- | --- |")
    for rule, of_rule in sorted(by_rule.items()):
        most = "; ".join(f"{names} {count:,}" for names, count in missing[rule].most_common(3))
        print(f"| {rule} | {share(of_rule)} | {most} |")
    return wrong


def main(words: list[str]) -> int:
    """Prove the shares of what is kept in a folder, or made now."""
    if not words:
        with tempfile.TemporaryDirectory() as folder:
            prove_truth.main(["--keep", folder])
            return main([folder])
    wrong = [line for form in ("logs", "dumps") for line in prove(Path(words[0]) / form)]
    print("\n" + ("\n".join(wrong) or "proven"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
