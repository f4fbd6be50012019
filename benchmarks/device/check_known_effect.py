"""Whether a JSON report of the known-effect suite recovers the effect on every row.

With ``--env-set KNOWN_EFFECT_SCALE=1.05,1`` the true speedup is 5 per cent::

    flagkit ab --backend cuda --switch env --env-set KNOWN_EFFECT_SCALE=1.05,1 \
        --suite tests/gpu/known_effect --reporter json -o five.json
    python benchmarks/device/check_known_effect.py five.json 5
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Print a line a row; exit 1 where one is off by more than a point."""
    data = json.loads(Path(sys.argv[1]).read_text())
    expected, worst = float(sys.argv[2]), 0.0
    for report in data.get("reports", [data]):
        for row in report["rows"]:
            got = row["speedup_percent"]
            worst = max(worst, abs(got - expected))
            size = f"{row['op']} {row['dtype']} {row['size_key']}"
            print(f"{size:44s} {row['before_ms'] * 1e3:10.2f} us {got:+7.2f} %")
    print(f"expected {expected:+.2f} %, furthest off {worst:.2f} points")
    raise SystemExit(worst > 1.0)


if __name__ == "__main__":
    main()
