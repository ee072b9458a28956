"""The same 147 events in every form that tools write: read as the same, or refused in a sentence; nothing is lost.

`python tests/proofs/prove_forms.py [WORD...]` prints a table of all forms, or of those with a word in their name: what
came of them and what was found around Kafka's lines. It is the table of docs/log-forms.md. Exit code 1 if a form is
neither read as the same nor refused by name, or if a byte is not accounted for.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.log_forms import EVENTS, FORMS
from tests.test_log_forms import outcome


def layers(name: str) -> str:
    """The kinds of what is around the lines, from the outside in, and their layout."""
    return ", ".join(re.sub(r"\(.*", "", part, flags=re.DOTALL) for part in name.split("/"))


def main(words: Sequence[str]) -> int:
    """Print the table and a count of each result."""
    results: Counter[str] = Counter()
    print("| form | result | what is found around the lines |\n| --- | --- | --- |")
    with TemporaryDirectory() as folder:
        for name in FORMS:
            if words and not any(word in name for word in words):
                continue
            result, formats, sentence = outcome(name, Path(folder))
            is_refused = result == "refused" and folder in sentence
            why = sentence.partition("server.log (")[2].partition(");")[0] if is_refused else layers(formats)
            print(f"| {name} | {result if is_refused or result == 'same' else f'**{result[:200]}**'} | {why} |")
            results[result if is_refused or result == "same" else "wrong"] += 1
    print(f"\n{sum(results.values())} forms of the same {EVENTS} events: {dict(results)}")
    return 1 if results["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
