"""Removal of a body's parameters, by name or as a member of another parameter."""

from jumpseat.dialects.parameters import omit


def test_a_dotted_name_removes_a_member_and_an_emptied_object():
    body = {"reasoning": {"effort": "low", "summary": "auto"}, "x": 1}
    assert omit(body, ["reasoning.summary"]) == {"reasoning": {"effort": "low"}, "x": 1}
    assert omit(body, ["reasoning.summary", "reasoning.effort", "y"]) == {"x": 1}
    assert body == {"reasoning": {"effort": "low", "summary": "auto"}, "x": 1}
