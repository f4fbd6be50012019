"""What both receipts tell of the device has to agree."""

from __future__ import annotations

from typing import Any

from flagkit.experiment.report import device_notes
from flagkit.model import RunLog


def log(driver: str, uuid: str = "GPU-1") -> RunLog:
    start: dict[str, Any] = {"uuid": uuid, "state": {"driver_version": driver}}
    receipt = {"device": {"start": start}, "versions": {"torch": "2.11"}}
    return RunLog(source="made", receipt=receipt)


def test_another_driver_or_device_is_told() -> None:
    assert not list(device_notes(log("580"), log("580")))
    (note,) = device_notes(log("580"), log("570"))
    assert note.text == "device driver is 580 before and 570 after"
    (note,) = device_notes(log("580"), log("580", "GPU-2"))
    assert note.code == "device-differs" and "uuid" in note.text
