"""What several tools take as arguments, for argparse."""
import argparse
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
