#!/usr/bin/env python3
"""Generates the Grafana dashboards of the chart: helm/paceline/dashboards/.

    helm/generate_dashboards.py [--check]

What the four boards show is said in helm/boards/; this writes what Grafana
wants to know of it. With --check nothing is written; exits with 1 if a board is
not in step.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from boards import (control_plane, heterogeneity, overview,  # noqa: E402
                    parameter_servers)
from boards.panels import dashboard  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / "paceline" / "dashboards"
BOARDS = (overview, heterogeneity, parameter_servers, control_plane)


def main():
    stale = False
    for board in BOARDS:
        path = FOLDER / f"{board.NAME}.json"
        text = json.dumps(dashboard(board), indent=1) + "\n"
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv[1:]:
            stale = True
            print(f"{path.name} is not in step: run "
                  "helm/generate_dashboards.py", file=sys.stderr)
        else:
            path.write_text(text)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
