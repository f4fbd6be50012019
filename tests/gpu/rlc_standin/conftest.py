from __future__ import annotations

pytest_plugins = ["rlc_standin"]
