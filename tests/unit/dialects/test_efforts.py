"""The nearest effort for a thinking level."""

import pytest

from jumpseat.dialects.efforts import COMMON, effort_warning, efforts_after_refusal, nearest_effort
from jumpseat.dialects.reasoning_models import efforts_of


@pytest.mark.requirement("2:thinking-levels")
@pytest.mark.parametrize(
    ("level", "efforts", "nearest"),
    [
        ("medium", ("low", "medium"), "medium"),
        ("high", ("low", "medium"), "medium"),
        ("low", ("high", "max"), "high"),
        ("low", ("max",), "max"),
        ("minimal", COMMON, "low"),
        ("max", COMMON, "high"),
        ("max", ("low", "high", "xhigh"), "xhigh"),
        ("off", COMMON, "none"),
        ("off", ("low", "high"), "low"),
        ("off", (), None),
        ("minimal", ("none",), None),
    ],
)
def test_the_nearest_effort_is_chosen_with_a_warning_unless_it_is_exact(level, efforts, nearest):
    assert nearest_effort(level, efforts) == nearest
    warning = effort_warning("m", level, nearest)
    # `off` needs no warning if the model accepts no effort at all.
    exact = nearest == ("none" if level == "off" else level) or (level, nearest) == ("off", None)
    code = "thinking_dropped" if nearest is None else "thinking_adjusted"
    assert (warning and warning.code) == (None if exact else code)


@pytest.mark.requirement("2:thinking-levels")
@pytest.mark.parametrize(
    ("model", "level", "effort"),
    [
        ("gpt-5", "off", "minimal"),
        ("gpt-5-mini", "minimal", "minimal"),
        ("gpt-5", "max", "high"),
        ("o3", "off", "low"),
        ("gpt-5.1", "off", "none"),
        ("gpt-5.4", "max", "xhigh"),
        ("gpt-5.4-pro", "low", "medium"),
        ("gpt-5.6", "minimal", "low"),
        ("gpt-5.6", "max", "max"),
        ("unknown", "max", "high"),
    ],
)
def test_the_efforts_of_openais_models_follow_from_their_names(model, level, effort):
    assert nearest_effort(level, efforts_of(model)) == effort


@pytest.mark.parametrize(
    ("message", "sent", "remaining"),
    [
        ("Supported values are: 'low' and 'high'.", "max", ["low", "high"]),
        ("'max' is not supported.", "max", ["none", "low", "medium", "high"]),
        ("reasoning_effort is not supported.", "max", None),
        ("'low' is not supported.", "low", None),
    ],
)
def test_a_refusal_shows_which_efforts_remain(message, sent, remaining):
    efforts = (*COMMON, "max")
    assert efforts_after_refusal(message, sent, efforts) == remaining
