"""Removal of a body's parameters, by name or as a member of another parameter."""

from jumpseat.dialects.parameters import omit


def test_a_member_is_removed_by_its_dotted_name_and_an_object_that_is_then_empty_too():
    body = {"reasoning": {"effort": "low", "summary": "auto"}, "x": 1}
    assert omit(body, ["reasoning.summary"]) == {"reasoning": {"effort": "low"}, "x": 1}
    assert omit(body, ["reasoning.summary", "reasoning.effort", "y"]) == {"x": 1}
    assert body == {"reasoning": {"effort": "low", "summary": "auto"}, "x": 1}
