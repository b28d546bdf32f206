"""Aligns "what | cases | largest error | limit | verdict" rows from stdin. Rows that did not pass come
last, then other lines."""

import sys

COLUMNS = 5


def row(what: str, cases: int, error: float, limit: float, passed: bool) -> str:
    """Returns a line of the table as the checkers print it."""
    return f"{what} | {cases} | {error:.3g} | {limit:.2g} | {'passed' if passed else 'FAILED'}"


def main() -> None:
    lines = sys.stdin.read().splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines
            if line.count("|") == COLUMNS - 1]
    header = ["what", "cases", "largest error", "limit", "verdict"]
    results = [row for row in rows if row[0] != "what"]
    rows = [header, *sorted(results, key=lambda row: row[-1] != "passed")]
    widths = [max(len(row[i]) for row in rows) for i in range(COLUMNS)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3)), row[4]]
        print(" | ".join(cells))
    for line in lines:
        if line.count("|") != COLUMNS - 1:
            print(line)


if __name__ == "__main__":
    main()
