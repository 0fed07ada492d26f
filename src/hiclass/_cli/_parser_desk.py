"""The parsers of the commands for human review."""

from __future__ import annotations

from typing import Any

from hiclass._cli import _help
from hiclass._cli._options import (
    add_command,
    add_decision,
    add_input,
    add_label_options,
    add_model_file,
    at_least,
    inner_share,
    listed,
    port,
)


def add_triage(commands: Any) -> None:
    """Add ``hiclass triage``."""
    from hiclass._inspect.triage import ORDERS

    command = add_command(
        commands,
        "triage",
        "code the rows that are sure, and queue the others for review",
        _help.TRIAGE,
        "MODEL FILE [--max-error E] -o FILE --review QUEUE [options]",
    )
    add_model_file(command)
    add_input(command)
    add_decision(command)
    sure = command.add_argument_group(
        "what is sure",
        "By default, the thresholds of the model or of --min-confidence decide.",
    )
    sure.add_argument(
        "--max-error",
        type=inner_share,
        metavar="E",
        help="the share of coded rows that may be wrong; needs a model from hiclass guarantee, or "
        "--labelled",
    )
    sure.add_argument(
        "--labelled",
        metavar="FILE",
        help="labelled rows that the model was not fitted on, to choose the thresholds for "
        "--max-error",
    )
    sure.add_argument(
        "--certainty",
        type=inner_share,
        metavar="P",
        help="with --labelled, the probability that the guarantee holds (default: 0.95)",
    )
    sure.add_argument(
        "--level",
        metavar="LEVEL",
        help="the level to code, by number or name; levels below it are omitted; by default, whole "
        "paths are coded",
    )
    add_label_options(command)
    queue = command.add_argument_group("output")
    queue.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the rows that are sure, with their labels",
    )
    queue.add_argument(
        "--review", required=True, metavar="QUEUE", help="the other rows, for hiclass review"
    )
    queue.add_argument(
        "--suggestions",
        type=at_least(1),
        default=5,
        metavar="N",
        help="number of suggested classes per row of the queue (default: 5)",
    )
    queue.add_argument(
        "--order",
        choices=list(ORDERS),
        default="uncertain",
        help=f"the order of the queue; {listed(ORDERS)} (default: uncertain)",
    )
    queue.add_argument(
        "--costs",
        metavar="FILE",
        help="for --order cost: a file with the columns of the levels and a column cost with the "
        "cost of missing a row of a class (other classes: 1)",
    )


def add_review(commands: Any) -> None:
    """Add ``hiclass review``."""
    command = add_command(
        commands,
        "review",
        "review a queue of rows in a browser on this machine",
        _help.REVIEW,
        "QUEUE --model MODEL -o FILE [--port PORT] [options]",
    )
    add_input(command, "QUEUE", "a queue written by hiclass triage --review")
    command.add_argument(
        "--model",
        required=True,
        metavar="MODEL",
        help="the model file that created the queue",
    )
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the reviewed rows; every decision is saved in FILE.journal immediately",
    )
    command.add_argument(
        "--port",
        type=port,
        default=8001,
        help="the port to listen on; 0 chooses a free port (default: 8001)",
    )
    command.add_argument(
        "--write",
        action="store_true",
        help="only write FILE from its journal, without starting the review desk",
    )
