"""The prompt on a terminal, with multiline editing, history and completion by prompt_toolkit."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, completion_is_selected, is_searching
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import History
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from jumpseat_cli.repl.history import InputHistory

HINT = "Ask something, or type /help"
HOW_TO_LEAVE = "Ctrl-D leaves."
MENU_ROWS = 6

_STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "placeholder": "fg:ansibrightblack",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit fg:ansibrightblack",
        "completion-menu.meta.completion.current": "noinherit reverse",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "noinherit reverse",
    }
)


class _StoredHistory(History):
    def __init__(self, stored: InputHistory) -> None:
        super().__init__()
        self._stored = stored
        self.stores = True

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._stored.read())

    def store_string(self, string: str) -> None:
        if self.stores:
            self._stored.add(string)


class PromptReader:
    """Reads the input with prompt_toolkit."""

    def __init__(self, history: InputHistory, completer: Completer) -> None:
        self._placeholder = HINT
        self._history = _StoredHistory(history)
        self._session: PromptSession[str] = PromptSession(
            FormattedText([("class:prompt", "> ")]),
            multiline=True,
            prompt_continuation="  ",
            history=self._history,
            completer=completer,
            complete_while_typing=Condition(self._is_command),
            reserve_space_for_menu=MENU_ROWS,
            key_bindings=self._bind_keys(),
            placeholder=self._hint,
            style=_STYLE,
            include_default_pygments_style=False,
            enable_suspend=True,
            enable_open_in_editor=True,
            tempfile_suffix=".md",
        )
        self._tab_is_pending = False
        """Whether Tab was pressed before there were any completions."""

        buffer = self._session.default_buffer
        buffer.on_text_changed += self._forget_tab
        buffer.on_completions_changed += self._select_first_word

    async def read(self, text: str = "") -> str | None:
        """Return the next input; None after Ctrl-D, or if the terminal was closed."""
        try:
            entered = await self._session.prompt_async(default=text)
        except EOFError:
            return None
        self._placeholder = HINT
        return entered

    async def confirm(self, question: str) -> bool:
        """Ask for y or n. Every answer except y and yes counts as no, and so do Ctrl-C and Ctrl-D."""
        try:
            answer = await self.ask_line(f"{question} [y/N] ")
        except KeyboardInterrupt:
            return False
        return (answer or "").strip().lower() in ("y", "yes")

    async def ask_line(self, question: str) -> str | None:
        """Ask for a line; keys that were typed before the question appeared remain for the next prompt."""
        session: PromptSession[str] = PromptSession()
        typed_before = [*get_typeahead(session.input)]
        # While no prompt is shown, the terminal buffers the keys.
        with session.input.raw_mode():
            typed_before += session.input.read_keys()
        try:
            return await session.prompt_async(question)
        except EOFError:
            return None
        finally:
            store_typeahead(session.input, typed_before + get_typeahead(session.input))

    def interrupt(self) -> None:
        """Do nothing: at this prompt, Ctrl-C is a key binding."""

    def _hint(self) -> FormattedText:
        # Hide the hint when the input is finished, because the hint would stay on the screen, and during a
        # search, because the hint would follow the text that was found.
        is_hidden = get_app().is_done or is_searching()
        return FormattedText([] if is_hidden else [("class:placeholder", self._placeholder)])

    def _is_command(self) -> bool:
        return self._session.default_buffer.text.startswith("/")

    def _has_choice(self) -> bool:
        state = self._session.default_buffer.complete_state
        return state is not None and len(state.completions) > 1

    def _forget_tab(self, _: Buffer) -> None:
        self._tab_is_pending = False

    def _select_first_word(self, buffer: Buffer) -> None:
        if self._tab_is_pending and buffer.complete_state is not None and buffer.complete_state.completions:
            buffer.complete_next()

    def _bind_keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter", filter=~is_searching)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            elif buffer.text.strip():
                buffer.validate_and_handle()

        @keys.add("enter", filter=completion_is_selected & Condition(self._has_choice))
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.complete_state = None

        @keys.add("tab", filter=Condition(self._is_command))
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state is not None:
                buffer.complete_next()
            else:
                # A completion that typing has started may still be waiting for the daemon's list of models.
                # The start below is then ignored, so `_select_first_word` acts when the list arrives.
                self._tab_is_pending = True
                buffer.start_completion()

        @keys.add("escape", "enter")
        @keys.add("escape", "c-j")  # Alt-Enter arrives as this if it was typed before the prompt appeared.
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c", filter=~is_searching)
        @keys.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            # Up restores a line that was cleared by mistake. Do not write that line to the history file,
            # because it may be a password.
            self._history.stores = False
            event.current_buffer.reset(append_to_history=bool(event.current_buffer.text.strip()))
            self._history.stores = True
            self._placeholder = HOW_TO_LEAVE
            event.app.invalidate()

        return keys
