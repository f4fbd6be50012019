"""Facts in bulk: an object is filled in first and made a fact then.

The constructor of a frozen dataclass sets each field through a call, which is most of what
reading or pairing a plain row costs. A draft has the slots of a fact and is not frozen.
Giving it the fact's class makes it one, equal in all to one that was constructed; the
caller has seen to what the constructor would have checked.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def draft_of(fact: type) -> type[Any]:
    """The class of drafts of *fact*, a slotted dataclass."""
    slots = tuple(field.name for field in fields(fact))
    return type(f"_{fact.__name__}Draft", (), {"__slots__": slots})
