"""What several tools take as arguments, for argparse."""
import argparse
import json
import pathlib


def numbers(text):
    return [int(word) for word in text.split(",")]


def writable(text):
    """A file to be written when all has been measured: whether that can be is found out before."""
    try:
        open(text, "a").close()
    except OSError as wrong:
        raise argparse.ArgumentTypeError(wrong) from wrong
    return pathlib.Path(text)


def rows_in(path):
    """What a file of tutti-perf --json, or of a tool's --save, holds. ValueError says what is wrong with it."""
    try:
        rows = json.loads(pathlib.Path(path).read_text())
        good = all("bytes" in row and "time_us_median" in row for row in rows)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError):
        good = False
    if not good:
        raise ValueError(f"{path} holds no rows of tutti-perf --json")
    return rows
