"""The protocol page agrees with the code: methods, names, codes, the answer to `initialize`."""

from __future__ import annotations

import ast
from typing import get_args

import pytest

from jumpseat import wire
from jumpseat.adapters.base.account import AuthState
from jumpseat.chat import BLOCK_CLASSES, StopReason
from jumpseat.chat.warning import WAITING_FOR_ROOM
from jumpseat.connections.faults import CODES, RpcFault, to_wire_error
from jumpseat.rpc.handlers.lifecycle import DELTA_TYPES
from jumpseat.rpc.methods import METHODS, NOTIFICATIONS_SENT, REQUESTS_SENT
from jumpseat.rpc.params import ChatStartParams, InitializationOptions
from tests.unit.pages import PROTOCOL, SOURCES, TO_CLIENT, TO_DAEMON, exchange, names_in, read, spans, table


def methods_of_the_page(direction: str) -> dict[str, str]:
    return {
        spans(name)[0]: kind for name, kind, way, *_ in table(PROTOCOL, "method", "kind") if way == direction
    }


def test_the_method_table_of_the_page_matches_the_code() -> None:
    assert methods_of_the_page("client → daemon") == {method.name: method.kind for method in METHODS.values()}


def test_the_method_table_has_everything_that_is_sent() -> None:
    assert methods_of_the_page("daemon → client") == {
        **dict.fromkeys(NOTIFICATIONS_SENT, "notification"),
        **dict.fromkeys(REQUESTS_SENT, "request"),
    }


def test_each_method_has_one_row_with_a_known_direction() -> None:
    rows = table(PROTOCOL, "method", "kind")

    assert {row[1] for row in rows} <= {"request", "notification"}
    assert {row[2] for row in rows} <= {"client → daemon", "daemon → client"}
    assert len(names_in(rows)) == len(set(names_in(rows))) == len(rows)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(("`delta.type`",), DELTA_TYPES, id="delta types"),
        pytest.param(("type", "keys"), [block.type for block in BLOCK_CLASSES], id="block types"),
        pytest.param(("`stopReason`",), get_args(StopReason), id="stop reasons"),
        pytest.param(("`state`",), get_args(AuthState), id="authentication states"),
        pytest.param(
            ("param",),
            list(ChatStartParams.model_json_schema()["properties"]),
            id="params of chat/start",
        ),
        pytest.param(
            ("`initializationOptions`",),
            list(InitializationOptions.model_json_schema()["properties"]),
            id="initialization options",
        ),
    ],
)
def test_the_names_in_a_table_match_the_code(header: tuple[str, ...], expected: list[str]) -> None:
    assert sorted(names_in(table(PROTOCOL, *header))) == sorted(expected)


def test_the_warnings_match_the_code() -> None:
    codes = {
        node.args[0].value
        for path in SOURCES[0].rglob("*.py")
        for node in ast.walk(ast.parse(read(path)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "WarningEvent"
        if node.args and isinstance(node.args[0], ast.Constant)
    }

    assert set(names_in(table(PROTOCOL, "warning"))) == codes | {WAITING_FOR_ROOM}


def test_the_error_codes_and_kinds_of_the_page_match_the_code() -> None:
    faults = [code for code in vars(wire).values() if type(code) is int and code < 0]
    expected = {code: to_wire_error(RpcFault(code, "")).data["kind"] for code in faults}
    expected |= {code: error.kind for error, code in CODES.items()}

    assert {int(row[0]): spans(row[1])[0] for row in table(PROTOCOL, "code")} == expected


def test_the_lists_in_the_answer_to_initialize_match_the_code() -> None:
    answer = next(message for direction, message in exchange() if direction == TO_CLIENT)
    shown = answer["result"]["capabilities"]["experimental"]["jumpseat"]

    assert shown["methods"] == [method.name for method in METHODS.values() if not method.lifecycle]
    assert tuple(shown["deltaTypes"]) == DELTA_TYPES
    assert shown["blockTypes"] == [block.type for block in BLOCK_CLASSES]


def test_the_exchange_shows_a_chat_a_tool_round_and_a_cancel() -> None:
    sent = [message["method"] for direction, message in exchange() if direction == TO_DAEMON]

    chats = ["chat/start"] * 3
    assert sent == ["initialize", "initialized", *chats, "$/cancelRequest", "shutdown", "exit"]
