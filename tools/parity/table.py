"""Aligns "what | cases | largest error | limit | verdict" rows from stdin. Rows that did not pass come
last, then other lines."""

import sys

HEADER = ["what", "cases", "largest error", "limit", "verdict"]


def main() -> None:
    lines = sys.stdin.read().splitlines()
    found = [[cell.strip() for cell in line.split("|")] for line in lines]
    rows = [row for row in found if len(row) == len(HEADER) and row[0] != "what"]
    rows = [HEADER, *sorted(rows, key=lambda row: row[-1] != "passed")]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    for row in rows:
        print(" | ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3)), row[4]]))
    print(*(line + "\n" for line in lines if line.count("|") != len(HEADER) - 1), sep="", end="")


if __name__ == "__main__":
    main()
