"""Reads what a scenario adds to the text of the hosts' `netem` (`netem_fwd`, `netem_rev`): random loss and jitter."""

from __future__ import annotations

from typing import Any

from .tc_words import NotTranslated, duration, probability, time_ns


def link_of_netem(text: str, where: str, delay_ns: int) -> dict[str, Any]:
    """Keys of a link: its delay, and the loss and jitter that the text asks for.

    `loss [random] P` is a probability for each packet. `delay T J` takes the place of the delay and adds a span drawn
    uniformly from -J to +J: here a delay of T - J with a jitter of 2 J.
    """
    link: dict[str, Any] = {"delay": duration(delay_ns)}
    words = text.split()
    while words:
        word = words.pop(0)
        if word == "loss":
            link["loss"] = probability(_value(words, where, word), f"{where} loss")
        elif word == "delay":
            link |= _delay(words, where)
        else:
            raise NotTranslated(f"{where}: netem's `{word}` is not known here")
    return link


def reorders(text: str, access_mbit: float | None) -> bool:
    """True if netem's jitter lets packets overtake each other: it does unless its own rate queues them."""
    return "jitter" in link_of_netem(text, "netem", 0) and not access_mbit


def _delay(words: list[str], where: str) -> dict[str, Any]:
    base = time_ns(_value(words, where, "delay"), f"{where} delay")
    if not words or not words[0][0].isdigit():
        return {"delay": duration(base)}
    half = time_ns(words.pop(0), f"{where} jitter")
    if words and words[0][0].isdigit() and float(words[0].rstrip("%")) > 0:
        raise NotTranslated(f"{where}: netem's correlation of delays is not known here")
    if words and words[0][0].isdigit():
        words.pop(0)
    if half > base:
        raise NotTranslated(f"{where}: a jitter above the delay is not known here")
    return {"delay": duration(base - half), "jitter": duration(2 * half)}


def _value(words: list[str], where: str, option: str) -> str:
    """The option's value; the word `random` before a loss says the default."""
    if option == "loss" and words and words[0] == "random":
        words.pop(0)
    if not words or not words[0][0].isdigit():
        raise NotTranslated(f"{where}: netem's `{option}` lacks a number")
    value = words.pop(0)
    if option == "loss" and words and words[0][0].isdigit():
        raise NotTranslated(f"{where}: netem's correlation of losses is not known here")
    return value
