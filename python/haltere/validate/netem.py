"""Reads what a scenario adds to the text of the hosts' `netem` (`netem_fwd`, `netem_rev`): loss, jitter, a rate, reordering."""

from __future__ import annotations

from typing import Any

from .tc_words import NotTranslated, duration, probability, rate_bps, time_ns


def link_of_netem(text: str, where: str, delay_ns: int) -> dict[str, Any]:
    """Keys of a link: its delay, and the loss and jitter that the text asks for.

    `loss [random] P` is a probability for each packet. `delay T J` takes the place of the delay and adds a span drawn
    uniformly from -J to +J: here a delay of T - J with a jitter of 2 J. `rate R` sends one packet after the other. `reorder P`
    sends a part P of the packets without the delay: here no packet has it, and the others are held back for as long.
    """
    link: dict[str, Any] = {"delay": duration(delay_ns)}
    words, early = text.split(), 0.0
    while words:
        word = words.pop(0)
        if word == "loss":
            link["loss"] = probability(_value(words, where, word), f"{where} loss")
        elif word == "delay":
            link |= _delay(words, where)
        elif word == "rate":
            link["rate"] = f"{rate_bps(_value(words, where, word), f'{where} rate')}bit"
        elif word == "reorder":
            early = probability(_value(words, where, word), f"{where} reorder")
        else:
            raise NotTranslated(f"{where}: netem's `{word}` is not supported")
    if not early:
        return link
    if "jitter" in link or "rate" in link:
        raise NotTranslated(f"{where}: netem's `reorder` with jitter or a rate is not supported")
    return link | {"delay": "0s", "reorder": 1 - early, "reorder_by": link["delay"]}


def _delay(words: list[str], where: str) -> dict[str, Any]:
    base = time_ns(_value(words, where, "delay"), f"{where} delay")
    if not words or not words[0][0].isdigit():
        return {"delay": duration(base)}
    half = time_ns(words.pop(0), f"{where} jitter")
    if words and words[0][0].isdigit() and float(words[0].rstrip("%")) > 0:
        raise NotTranslated(f"{where}: netem's correlation of delays is not supported")
    if words and words[0][0].isdigit():
        words.pop(0)
    if half > base:
        raise NotTranslated(f"{where}: a jitter above the delay is not supported")
    return {"delay": duration(base - half), "jitter": duration(2 * half)}


CORRELATED = {"loss": "losses", "reorder": "reordering"}


def _value(words: list[str], where: str, option: str) -> str:
    """The option's value; the word `random` before a loss says the default."""
    if option == "loss" and words and words[0] == "random":
        words.pop(0)
    if not words or not words[0][0].isdigit():
        raise NotTranslated(f"{where}: netem's `{option}` lacks a number")
    value = words.pop(0)
    if option in ("loss", "reorder") and words and words[0][0].isdigit() and float(words.pop(0).rstrip("%")) > 0:
        raise NotTranslated(f"{where}: netem's correlation of {CORRELATED[option]} is not supported")
    return value
