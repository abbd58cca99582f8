"""Certificates that say the same are equal."""

import json
from typing import Any


class EqualByContent:
    """Equality and hash by what `to_dict` gives: arrays have no equality of their own that a dataclass could use."""

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, EqualByContent):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True, default=str))
