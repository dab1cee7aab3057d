"""The built-in prompts. A table `[prompts.NAME]` replaces the built-in prompt with that name.

Each prompt asks for one thing in plain words, because small models do not follow long instructions. The input
comes last, because it may be long.
"""

from __future__ import annotations

from collections.abc import Mapping

from jumpseat.config.prompts import Prompt

BUILT_IN_PROMPTS: Mapping[str, Prompt] = {
    "explain": Prompt(
        description="Explain code or an error message",
        text="""\
Explain the following. Say first, in one sentence, what it is or does. Then explain how it works, step by \
step, and what is surprising about it.

{{input}}""",
    ),
    "review": Prompt(
        description="Review code or a change",
        text="""\
Review the following code or change. List only real problems, the most serious first: bugs, then security, \
then code that is hard to understand. For each, quote the line and say how to fix it. If there is no \
problem, say so.

{{input}}""",
    ),
    "fix": Prompt(
        description="Find and fix a bug",
        text="""\
Find the bug in the following and fix it. Say in one sentence what is wrong. Then show the corrected code \
in one code block, and change nothing else.

{{input}}""",
    ),
    "tests": Prompt(
        description="Write tests for code",
        text="""\
Write unit tests for the following code, with the test framework that it already uses or that is usual for \
its language. Test ordinary values, limits and errors. Answer with one code block.

{{input}}""",
    ),
    "docs": Prompt(
        description="Write documentation comments for code",
        text="""\
Add documentation comments to the following code, in the form that is usual for its language: what it \
does, its parameters, its result and its errors. Answer with the whole code in one code block, and change \
only comments.

{{input}}""",
    ),
    "commit": Prompt(
        description="Write a commit message for a diff",
        takes_diff=True,
        text="""\
Write a Git commit message for the following diff: one line in the imperative, of at most 72 characters. \
If the reason is not obvious, add an empty line and a short paragraph that explains it. Write only the \
message.

{{input}}""",
    ),
}
