"""An explanation as text and as HTML."""

from __future__ import annotations

import html
from typing import Any

from hiclass._inspect.models import label_text

_STOP = "(stop here)"


def to_text(explanation: Any) -> str:
    """Write an explanation as lines of text."""
    lines = [f"{label_text(explanation.path)}{_sure(explanation.confidence)}"]
    if explanation.note:
        lines.append(explanation.note)
    for step in explanation.steps:
        lines += ["", f"{step.level}. {_titled(step)}{_number('  ', step.probability)}"]
        if step.runners_up:
            lines.append(f"   {_runners_word(step)}: {_runners(step)}")
        for reason in step.reasons:
            lines += reason_text(reason)
    return "\n".join(lines)


def reason_text(reason: Any) -> list[str]:
    """One reason as lines of text."""
    rows = _rows(reason)
    width = max((len(amount) for _, amount, _ in rows), default=0)
    return [
        f"   {_heading(reason)}{':' if reason.features else ''}",
        *(f"     {amount.rjust(width)}  {name}" for name, amount, _ in rows),
    ]


def reason_html(reason: Any) -> str:
    """One reason as HTML."""
    heading = f"<p style='margin:.4em 0 0;opacity:.7'>{html.escape(_heading(reason))}</p>"
    return heading + (_table(reason) if reason.features else "")


def to_html(explanation: Any) -> str:
    """Write an explanation as HTML for a notebook; every label is escaped."""
    path = html.escape(label_text(explanation.path))
    sure = html.escape(_sure(explanation.confidence).strip())
    parts = [
        "<div style='font-size:14px;line-height:1.5;max-width:46em'>",
        f"<p style='margin:0'><strong>{path}</strong> <span style='opacity:.7'>{sure}</span></p>",
    ]
    if explanation.note:
        parts.append(f"<p style='margin:0;opacity:.7'>{html.escape(explanation.note)}</p>")
    for step in explanation.steps:
        probability = _number("", step.probability)
        parts.append(
            f"<p style='margin:.9em 0 0'>{step.level}. <strong>{html.escape(_titled(step))}"
            f"</strong> {probability}</p>"
        )
        if step.probability is not None:
            parts.append(_bar(step.probability))
        if step.runners_up:
            runners = html.escape(f"{_runners_word(step)}: {_runners(step)}")
            parts.append(f"<p style='margin:0;opacity:.7'>{runners}</p>")
        parts += [reason_html(reason) for reason in step.reasons]
    return "".join([*parts, "</div>"])


def _table(reason: Any) -> str:
    """The features of a reason, with bars to the left and right of the centre."""
    found = _rows(reason)
    top = max(abs(strength) for _, _, strength in found)
    rows = []
    for name, amount, strength in found:
        share = 50 * abs(strength) / top
        left, colour = (50, "#1f66a8") if strength > 0 else (50 - share, "#b8540f")
        bar = (
            f"<div style='position:relative;height:9px;width:120px'><div style='position:absolute;"
            f"left:{left:.1f}%;width:{share:.1f}%;height:9px;background:{colour}'></div></div>"
        )
        rows.append(
            f"<tr style='background:none'><td style='text-align:left'>"
            f"{html.escape(name)}</td><td>{bar}</td>"
            f"<td style='text-align:right'>{amount}</td></tr>"
        )
    return f"<table style='margin:0;font-size:13px'>{''.join(rows)}</table>"


def _bar(probability: float) -> str:
    return (
        "<div style='height:5px;width:240px;background:#8883;border-radius:3px'>"
        f"<div style='height:5px;width:{100 * min(probability, 1.0):.1f}%;background:#1f66a8;"
        "border-radius:3px'></div></div>"
    )


def _sure(confidence: float | None) -> str:
    return "" if confidence is None else f" (probability {confidence:.2f})"


def _name(label: Any) -> str:
    return _STOP if label is None else str(label)


def _titled(option: Any) -> str:
    """The label of a branch, and its title if it differs."""
    name = _name(option.label)
    return name if option.text in (None, name) else f"{name}: {option.text}"


def _number(space: str, value: float | None) -> str:
    return "" if value is None else f"{space}{value:.2f}"


def _runners(step: Any) -> str:
    return ", ".join(
        f"{_titled(option)}{_number(' ', option.probability)}" for option in step.runners_up
    )


def _heading(reason: Any) -> str:
    words = ", ".join(part for part in (reason.classifier, reason.note) if part)
    return f"[{reason.member}] {words}" if reason.member else words


def _runners_word(step: Any) -> str:
    if step.label is None and step.probability is None and step.runners_up[0].probability:
        return "not followed"
    return "runner-up" if len(step.runners_up) == 1 else "runners-up"


def _rows(reason: Any) -> list[tuple[str, str, float]]:
    """Name, formatted number and number of every feature, and the sum of all others."""
    if reason.margin is None:
        return [(f.name, f"{f.weight:.3f}", f.weight) for f in reason.features]
    rows = [(f"{f.name} = {f.value:.4g}", f.contribution) for f in reason.features]
    rest = reason.margin - sum(contribution for _, contribution in rows)
    if rows and abs(rest) >= 0.005:
        rows.append(("the rest, with the intercept", rest))
    return [(name, f"{contribution:+.2f}", contribution) for name, contribution in rows]
