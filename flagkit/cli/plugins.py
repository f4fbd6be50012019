"""``flagkit plugins``: what is installed, and what is wrong with it."""

from __future__ import annotations

import json

import click

from flagkit.cli import one_line
from flagkit.cli.options import registry


@click.command(name="plugins")
@click.option("--json", "as_json", is_flag=True, help="For scripts: a list of objects.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> int:
    """List every installed plug-in: kind, name, distribution, version, state, summary.

    A plug-in that fails to load is listed with the reason and makes the exit code 1.
    """
    rows = [
        {
            "kind": status.provider.kind.value,
            "name": status.provider.name,
            "distribution": status.provider.distribution,
            "version": status.provider.version,
            "state": "broken" if status.problem else "ok",
            "summary": status.summary,
            "problem": status.problem,
        }
        for status in registry(ctx).check()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        columns = ("kind", "name", "distribution", "version", "state")
        widths = [max(len(c), *(len(one_line(row[c])) for row in rows)) for c in columns]
        titles = "  ".join(c.ljust(w) for c, w in zip(columns, widths, strict=True))
        click.echo(f"{titles}  summary")
        for row in rows:
            cells = (one_line(row[c]).ljust(w) for c, w in zip(columns, widths, strict=True))
            click.echo(f"{'  '.join(cells)}  {one_line(row['problem'] or row['summary'])}")
    return 1 if any(row["problem"] for row in rows) else 0
