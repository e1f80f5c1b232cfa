"""Places of jobs in their table, as a claim keeps them: mostly the jobs of a claim lie side by side."""

from collections.abc import Sequence


def parts(places: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of places that follow one another; no place may come twice."""
    first, last = min(places), max(places)
    if last - first + 1 == len(places):
        return [(first, last)]
    found: list[tuple[int, int]] = []
    for place in sorted(places):
        if found and place == found[-1][1] + 1:
            found[-1] = (found[-1][0], place)
        else:
            found.append((place, place))
    return found
