"""Re-checks every digest that a run keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit.errors import InputError
from flagkit.experiment.harness import SUMS, check_sums, files
from flagkit.experiment.receipts import check_receipt, digests
from flagkit.experiment.rundir import RECEIPT, read_json

if TYPE_CHECKING:
    from flagkit.experiment.rundir import RunDir


def verify(rundir: RunDir) -> tuple[int, list[str]]:
    """How many files were checked, and one line for each that is not as recorded."""
    problems = [f"harness/{text}" for text in check_sums(rundir.harness)]
    checked = sum(1 for _ in files(rundir.harness))
    if not (rundir.harness / SUMS).is_file():
        checked = 0
    if (rundir.root / RECEIPT).is_file():
        data = read_json(rundir.root / RECEIPT)
        names = list(data["digests"]) if isinstance(data.get("digests"), dict) else []
        problems += check_receipt(rundir.root, data, names)
        checked += len(names)
    for path in sorted(rundir.root.glob(f"*/*/{RECEIPT}")):
        side = path.parent.relative_to(rundir.root).as_posix()
        try:
            found = check_receipt(path.parent, read_json(path))
        except InputError as error:
            found = [str(error)]
        problems += [f"{side}/{text}" for text in found]
        checked += len(digests(path.parent))
    return checked, problems
