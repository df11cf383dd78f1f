"""Every key, once: its stable id, what it does and where it works.

Widgets, help, tests and documents read this.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import format_key

__all__ = ["KEYS", "Key", "bindings", "key_label"]


class Key(NamedTuple):
    """One action and its keys."""

    id: str
    """Stable name for keymaps and documents: `context.action`."""
    keys: str
    """Textual key names, separated by commas."""
    action: str
    description: str
    """What it does, for the help; starts with a capital."""
    hint: str = ""
    """A word or two for the line at the bottom; without one the key is not shown there."""
    priority: bool = False
    """Taken before the focused widget sees the key."""

    @property
    def context(self) -> str:
        """Where it works; a key of `CONTEXTS`."""
        return self.id.partition(".")[0]


KEYS: tuple[Key, ...] = (
    Key("app.help", "question_mark,f1", "help", "Show the keys that work here", "keys"),
    Key("app.palette", "colon,ctrl+p", "command_palette", "Open the command palette", "palette"),
    Key("app.problems", "exclamation_mark", "problems", "Show what could not be read"),
    Key("app.attention", "A", "attention", "Show which sessions need you", "attention"),
    Key("app.cost", "C", "cost", "Show what sessions cost"),
    Key("app.lanes", "L", "lanes", "Show the lanes of Hermes' gateway", "lanes"),
    Key("app.theme", "T", "next_theme", "Next theme"),
    Key("app.quit", "q", "quit", "Quit", "quit"),
    Key("app.interrupt", "ctrl+c", "help_quit", "Show how to quit"),
    Key("app.quit_always", "ctrl+q", "quit", "Quit, also while typing", priority=True),
    Key("main.filter", "slash", "filter", "Search all sessions", "search", priority=True),
    Key(
        "main.search_all",
        "backslash",
        "search_all",
        "Search all sessions, also from one",
        "search all",
        priority=True,
    ),
    Key("main.other_pane", "tab,shift+tab", "other_pane", "Go to the other pane"),
    Key("main.back", "escape,backspace,h", "back", "Back: to the list, or out of a search", "back"),
    Key("main.refresh", "ctrl+r,f5", "app.refresh", "Refresh now"),
    Key("main.diff", "d", "session('diff')", "Compare the two marked sessions, or a fork with its origin", "diff"),
    Key("main.edits", "D", "session('edits')", "Show all its edits as one diff, by file"),
    Key("main.export", "e", "session('export')", "Export the session, or those that are marked", "export"),
    Key("main.copy", "y", "session('copy')", "Copy the message, code, output, an id or a command", "copy"),
    Key("main.pager", "p", "session('pager')", "Read it in $PAGER"),
    Key("main.editor", "v", "session('editor')", "Open it in $EDITOR"),
    Key("main.resume", "r", "session('resume')", "Resume it in the agent's own CLI", "resume…"),
    Key("main.lane", "W", "session('lane')", "What became of its lane's conversations, and why it forgot"),
    Key("main.manage", "M", "manage", "Rename, end, reopen, clear, delete or prune sessions of Hermes"),
    Key("main.system_prompt", "I", "system_prompt", "Read the system prompt that a session of Hermes began with"),
    Key("main.jump", "ctrl+g", "session('jump')", "Go to the tmux pane in which it runs"),
    Key(
        "main.fork",
        "F",
        "session('fork')",
        "Fork it into a new session, in the agent's own CLI",
    ),
    Key("main.pin", "P", "session('pin')", "Pin the session, or unpin it: pinned ones stand above the others"),
    Key("main.marks", "t", "session('marks')", "Give it a name, tags and a note of your own; several marked: tags"),
    Key("main.zoom", "plus", "screen.panes('zoom')", "Give this pane the whole screen: the other one is hidden"),
    Key("main.unzoom", "underscore", "screen.panes('unzoom')", "Show both panes again"),
    Key("main.narrower", "less_than_sign", "screen.panes('narrower')", "Move the split to the left"),
    Key("main.wider", "greater_than_sign", "screen.panes('wider')", "Move the split to the right"),
    Key("main.context", "s", "context('toggle')", "Dim what the agent no longer sees; again: show all"),
    Key("main.memory", "H", "context('memory')", "What an agent of Hector's remembers of the session, and recalls"),
    Key("main.context_window", "S", "context('choose')", "Choose another context window"),
    Key("main.next_unread", "u", "app.unread('go_next')", "Next session with something new in it"),
    Key("main.mark_read", "U", "app.unread('mark_read')", "Count what is new in it as seen"),
    Key("list.open", "enter,l", "open", "Open the session", "open"),
    Key("list.mark", "space", "mark", "Mark it, or unmark it: to compare, export or tag several", "mark"),
    Key("list.unmark", "x", "unmark", "Take all marks away"),
    Key("list.toggle", "z", "toggle_fold", "Unfold or fold forks and helpers", "fold"),
    Key("list.unfold", "right", "unfold", "Unfold, or go to the first fork"),
    Key("list.fold", "left,h", "fold", "Fold, or go to the session it came from"),
    Key("list.unfold_all", "Z", "toggle_all", "Unfold or fold everything"),
    Key("list.order", "o", "screen.listing('order')", "Sort and group the list", "order"),
    Key("list.turn", "O", "screen.listing('turn')", "Sort the other way round"),
    Key("list.only_agent", "a", "screen.listing('only_agent')", "Only this agent's sessions; again: all"),
    Key("list.only_project", "w", "screen.listing('only_project')", "Only this project's sessions; again: all"),
    Key("list.only_live", "i", "screen.listing('only_live')", "Only sessions that are open now; again: all"),
    Key("list.only_unread", "n", "screen.listing('only_unread')", "Only sessions with something new; again: all"),
    Key("list.columns", "c", "screen.listing('columns')", "Choose the columns"),
    Key("list.down", "down,j,ctrl+n", "move(1)", "Next session"),
    Key("list.up", "up,k", "move(-1)", "Previous session"),
    Key("list.page_down", "pagedown,ctrl+f", "page(1)", "A page down"),
    Key("list.page_up", "pageup,ctrl+b", "page(-1)", "A page up"),
    Key("list.half_down", "ctrl+d", "half_page(1)", "Half a page down"),
    Key("list.half_up", "ctrl+u", "half_page(-1)", "Half a page up"),
    Key("list.first", "home,g", "first", "First session"),
    Key("list.last", "end,G", "last", "Last session"),
    Key("list.next_day", "right_square_bracket,J", "day(1)", "Next day or other heading"),
    Key("list.previous_day", "left_square_bracket,K", "day(-1)", "Previous day or other heading"),
    Key("search.keep", "enter", "screen.keep", "Go to the results", "results"),
    Key("search.leave", "escape", "screen.leave", "Leave the search, back to where you were", "leave"),
    Key(
        "search.complete", "tab", "screen.complete", "Complete the filter; without one, go to the results", "complete"
    ),
    Key("search.recent", "ctrl+r", "screen.recent", "Recent and saved searches", "recent"),
    Key("search.down", "down,ctrl+n", "screen.list_move(1)", "Next result; in an empty box, the next recent search"),
    Key("search.up", "up", "screen.list_move(-1)", "Previous result; in an empty box, the search before"),
    Key("search.page_down", "pagedown", "screen.list_page(1)", "A page of results down"),
    Key("search.page_up", "pageup", "screen.list_page(-1)", "A page of results up"),
    Key("find.keep", "enter", "keep", "Go on from match to match with n and N"),
    Key("find.leave", "escape", "leave", "Find nothing, back to where you were"),
    Key("find.next", "down,ctrl+n", "match(1)", "Next match"),
    Key("find.previous", "up", "match(-1)", "Previous match"),
    Key("page.close", "escape,q,backspace", "screen.close", "Back to the sessions", "back"),
    Key("page.down", "down,j", "scroll_by(1)", "A line down"),
    Key("page.up", "up,k", "scroll_by(-1)", "A line up"),
    Key("page.page_down", "pagedown,space,ctrl+d,ctrl+f", "scroll_page(1)", "A page down"),
    Key("page.page_up", "pageup,ctrl+u,ctrl+b", "scroll_page(-1)", "A page up"),
    Key("page.first", "home,g", "scroll_edge(-1)", "To the top"),
    Key("page.last", "end,G", "scroll_edge(1)", "To the end"),
    Key("diff.close", "escape,q,backspace", "screen.close", "Back to the sessions", "back"),
    Key("diff.next", "n,right_square_bracket,J", "change(1)", "Next change", "next"),
    Key("diff.previous", "N,left_square_bracket,K", "change(-1)", "Previous change", "previous"),
    Key("diff.fold", "enter,space", "fold", "Open or close an equal run or a long message", "open/close"),
    Key("diff.fold_all", "z", "fold_all", "Unfold or fold all equal messages", "equal"),
    Key("diff.uses", "t", "uses", "Tool calls and files, or messages", "tools"),
    Key("diff.down", "down,j,ctrl+e", "move(1)", "A line down"),
    Key("diff.up", "up,k,ctrl+y", "move(-1)", "A line up"),
    Key("diff.page_down", "pagedown,ctrl+f,ctrl+d", "page(1)", "A page down"),
    Key("diff.page_up", "pageup,ctrl+b,ctrl+u", "page(-1)", "A page up"),
    Key("diff.first", "home,g", "edge(-1)", "To the top"),
    Key("diff.last", "end,G", "edge(1)", "To the end"),
    Key("edits.close", "escape,q,backspace", "screen.close", "Back to the sessions", "back"),
    Key("edits.next", "n,right_square_bracket,J", "file(1)", "Next file", "next file"),
    Key("edits.previous", "N,left_square_bracket,K", "file(-1)", "This or the previous file"),
    Key("edits.fold", "enter,space", "fold", "Open or close the file", "open/close"),
    Key("edits.fold_all", "z", "fold_all", "Open or close all files", "all"),
    Key("edits.export", "e", "screen.export", "Export them as a patch", "patch"),
    Key("edits.down", "down,j,ctrl+e", "move(1)", "A line down"),
    Key("edits.up", "up,k,ctrl+y", "move(-1)", "A line up"),
    Key("edits.page_down", "pagedown,ctrl+f,ctrl+d", "page(1)", "A page down"),
    Key("edits.page_up", "pageup,ctrl+b,ctrl+u", "page(-1)", "A page up"),
    Key("edits.first", "home,g", "edge(-1)", "To the top"),
    Key("edits.last", "end,G", "edge(1)", "To the end"),
    Key("memory.ask", "slash", "ask", "Ask what the agent would recall", "ask"),
    Key("memory.leave", "escape", "leave", "Leave the question, or back to the sessions"),
    Key("menu.choose", "enter", "screen.choose", "Choose"),
    Key("menu.leave", "escape", "screen.close", "Choose nothing"),
    Key("menu.down", "down,ctrl+n", "move(1)", "Next"),
    Key("menu.up", "up,ctrl+p", "move(-1)", "Previous"),
    Key("searches.save", "ctrl+s", "save", "Save this search", "save"),
    Key("searches.remove", "delete,ctrl+x", "remove", "Remove the saved search", "remove"),
    Key("copying.mask", "x", "mask", "Mask the secrets in what is copied, or keep them", "mask secrets"),
    Key("export.write", "enter", "screen.write", "Write the file"),
    Key("export.leave", "escape", "screen.close", "Export nothing"),
    Key("export.next", "right,l,space", "change(1)", "Next value"),
    Key("export.previous", "left,h", "change(-1)", "Previous value"),
    Key("export.down", "down,j", "move(1)", "Next field"),
    Key("export.up", "up,k", "move(-1)", "Previous field"),
    Key("save.leave", "escape", "screen.close", "Save nothing"),
    Key("rename.leave", "escape", "screen.close", "Change nothing"),
    Key("marks.save", "ctrl+s", "screen.save", "Save them", "save"),
    Key("marks.leave", "escape", "screen.close", "Change nothing"),
    Key("cost.open", "enter,l", "open", "List the sessions of this line", "sessions"),
    Key("cost.close", "escape,q,backspace,h", "screen.close", "Back to the sessions", "back"),
    Key("cost.down", "down,j,ctrl+n", "move(1)", "Next line"),
    Key("cost.up", "up,k", "move(-1)", "Previous line"),
    Key("cost.span", "r,full_stop", "screen.span(1)", "Other days: 7, 30, 90, this month, all", "days"),
    Key("cost.span_back", "R,comma", "screen.span(-1)", "The days before"),
    Key("cost.next", "tab,right_square_bracket,J", "section(1)", "Next ranking", "ranking"),
    Key("cost.previous", "shift+tab,left_square_bracket,K", "section(-1)", "Previous ranking"),
    Key("cost.page_down", "pagedown,space,ctrl+d,ctrl+f", "page(1)", "A page down"),
    Key("cost.page_up", "pageup,ctrl+u,ctrl+b", "page(-1)", "A page up"),
    Key("cost.first", "home,g", "edge(-1)", "First line"),
    Key("cost.last", "end,G", "edge(1)", "Last line"),
    Key("attention.close", "escape,q,backspace,h", "screen.close", "Back to the sessions", "back"),
    Key("attention.open", "enter,l", "open", "Open the session", "open"),
    Key("attention.jump", "g,ctrl+g", "screen.jump", "Go to the tmux pane in which it runs", "jump"),
    Key("attention.next_unread", "n", "screen.next_unread", "Next session with something new in it", "next unread"),
    Key("attention.mark_read", "m", "screen.mark_read", "Count it as seen", "mark read"),
    Key("attention.explain", "x", "screen.explain", "Show how its state is known", "explain"),
    Key("attention.down", "down,j,ctrl+n", "move(1)", "Next session"),
    Key("attention.up", "up,k", "move(-1)", "Previous session"),
    Key("attention.page_down", "pagedown,space,ctrl+d,ctrl+f", "page(1)", "A page down"),
    Key("attention.page_up", "pageup,ctrl+u,ctrl+b", "page(-1)", "A page up"),
    Key("attention.first", "home", "edge(-1)", "First session"),
    Key("attention.last", "end,G", "edge(1)", "Last session"),
    Key("attention.refresh", "ctrl+r,f5", "app.refresh", "Refresh now"),
    Key("lanes.close", "escape,q,backspace,h", "screen.close", "Back to the sessions", "back"),
    Key("lanes.open", "enter,l", "open", "Read its session, and the earlier ones", "transcript"),
    Key("lanes.history", "w", "screen.history", "What became of its conversations, and why it forgot", "history"),
    Key("lanes.filter", "slash", "screen.filter", "Show lanes with the words that you type", "filter"),
    Key("lanes.order", "o", "screen.order", "Sort the lanes", "order"),
    Key("lanes.turn", "O", "screen.turn", "Sort them the other way round"),
    Key("lanes.profile", "tab,right_square_bracket", "screen.profile(1)", "Next profile", "profile"),
    Key("lanes.previous_profile", "shift+tab,left_square_bracket", "screen.profile(-1)", "Previous profile"),
    Key("lanes.down", "down,j,ctrl+n", "move(1)", "Next lane"),
    Key("lanes.up", "up,k", "move(-1)", "Previous lane"),
    Key("lanes.page_down", "pagedown,space,ctrl+d,ctrl+f", "page(1)", "A page down"),
    Key("lanes.page_up", "pageup,ctrl+u,ctrl+b", "page(-1)", "A page up"),
    Key("lanes.first", "home,g", "edge(-1)", "First lane"),
    Key("lanes.last", "end,G", "edge(1)", "Last lane"),
    Key("lanes.text_down", "J", "screen.scroll_lane(1)", "The text below the table: down"),
    Key("lanes.text_up", "K", "screen.scroll_lane(-1)", "The text below the table: up"),
    Key("lanefilter.keep", "enter", "keep", "Go to the lanes that are left"),
    Key("lanefilter.leave", "escape", "leave", "Show all lanes again"),
    Key("lanefilter.down", "down,ctrl+n", "move(1)", "Next lane"),
    Key("lanefilter.up", "up", "move(-1)", "Previous lane"),
    Key("lanes.refresh", "ctrl+r,f5", "app.refresh", "Refresh now"),
    Key("lanes.problems", "exclamation_mark", "screen.problems", "Show what could not be read of lanes"),
    Key("operations.reset", "R", "operation('reset')", "Give it a new, empty session", "reset…"),
    Key("operations.suspend", "S", "operation('suspend')", "Start a new session with its next message", "suspend…"),
    Key("operations.resume", "E", "operation('resume')", "Continue it in another session", "resume into…"),
    Key(
        "operations.mark",
        "m",
        "operation('mark')",
        "Mark it as interrupted, so that its conversation is kept",
        "mark…",
    ),
    Key("operations.clear", "c", "operation('clear')", "Take the resume mark away", "clear…"),
    Key("operations.undo", "u", "operation('undo')", "Take the latest change back", "undo…"),
    Key("operations.prune", "p", "operation('prune')", "Drop old lanes from the index", "prune…"),
    Key("plan.confirm", "y", "confirm", "Confirm, once the plan was on the screen for a moment"),
    Key("plan.choose", "enter", "choose", "Press the chosen button; at first, Cancel"),
    Key("plan.turn", "tab,shift+tab,left,right", "turn", "The other button"),
    Key("plan.close", "escape,n", "close", "Cancel"),
    Key("plan.force", "f", "force", "Plan it against Hermes' own rule, where that can be done"),
    Key("start.here", "y", "start('here')", "Start it in this terminal, once it was on the screen for a moment"),
    Key("start.window", "w", "start('window')", "Start it in a new window of tmux"),
    Key("start.directory", "d", "directory", "Run it in another directory", priority=True),
    Key("start.choose", "enter", "choose", "Press the chosen button; at first, Cancel"),
    Key("start.turn", "tab,right", "turn(1)", "The next button"),
    Key("start.turn_back", "shift+tab,left", "turn(-1)", "The button before"),
    Key("start.close", "escape,n", "close", "Cancel"),
    Key("picker.choose", "enter", "choose", "Choose the session"),
    Key("picker.leave", "escape", "close", "Choose nothing"),
    Key("picker.down", "down,ctrl+n", "move(1)", "Next session"),
    Key("picker.up", "up,ctrl+p", "move(-1)", "Previous session"),
    Key("picker.page_down", "pagedown", "page(1)", "A page down"),
    Key("picker.page_up", "pageup", "page(-1)", "A page up"),
    Key("lane.close", "escape,q,backspace,h", "close", "Back to the lanes", "back"),
    Key("lane.earlier", "less_than_sign,comma", "session(1)", "The session before this one", "earlier"),
    Key("lane.later", "greater_than_sign,full_stop", "session(-1)", "The session after this one", "later"),
    Key("jump.prompt", "p,right_square_bracket,left_square_bracket", "jump_to('prompt')", "Prompt", "prompt"),
    Key("jump.message", "m", "jump_to('message')", "Message, of either side", "message"),
    Key("jump.call", "t", "jump_to('tool call')", "Tool call", "tool call"),
    Key("jump.error", "e", "jump_to('error')", "Failed call, of a tool or of the model", "error"),
    Key("jump.edit", "d", "jump_to('edit')", "Call that changes a file", "edit"),
    Key("jump.helper", "s", "jump_to('sub-agent')", "Call of a sub-agent", "sub-agent"),
    Key("jump.image", "i", "jump_to('image')", "Image or other attachment", "image"),
    Key("jump.compaction", "c", "jump_to('compaction')", "Compaction", "compaction"),
    Key(
        "transcript.open",
        "enter",
        "open",
        "Open the sub-agent of a call, or an image in your viewer; any other block as space does",
        "open",
    ),
    Key("transcript.save", "w", "save", "Save the image on this line to a file"),
    Key("transcript.toggle", "space", "fold", "Open or close the block under the cursor", "open/close"),
    Key("transcript.all", "o", "see_all", "Open the block, and show all of it", "all of it"),
    Key("transcript.find", "slash", "find", "Find in this session", "find", priority=True),
    Key("transcript.outline", "O", "outline", "Outline of the session: prompts, changed files, errors", "outline"),
    Key("transcript.edit", "E", "edit", "Open the file that this line names in $EDITOR, at its line"),
    Key("transcript.follow", "f", "follow", "Go to the end and follow what comes", "follow"),
    Key("transcript.tools", "z", "toggle_tools", "Open or close all tool calls", "tools"),
    Key("transcript.thinking", "Z", "toggle_thinking", "Open or close all thinking", "thinking"),
    Key("transcript.raw", "m", "toggle_raw", "Show prose as it was written, or as Markdown"),
    Key("transcript.branch", "b", "branch(1)", "Next branch, where the conversation has several"),
    Key("transcript.previous_branch", "B", "branch(-1)", "Previous branch"),
    Key("transcript.down", "down,j,ctrl+e", "move(1)", "A line down"),
    Key("transcript.up", "up,k,ctrl+y", "move(-1)", "A line up"),
    Key("transcript.page_down", "pagedown,ctrl+f", "page(1)", "A page down"),
    Key("transcript.page_up", "pageup,ctrl+b", "page(-1)", "A page up"),
    Key("transcript.half_down", "ctrl+d", "half_page(1)", "Half a page down"),
    Key("transcript.half_up", "ctrl+u", "half_page(-1)", "Half a page up"),
    Key(
        "transcript.next",
        "right_square_bracket",
        "jump(1)",
        "Next …: then ] for a prompt, m message, t tool call, e error, d edit, s sub-agent, i image, c compaction",
        "next…",
    ),
    Key(
        "transcript.previous",
        "left_square_bracket",
        "jump(-1)",
        "Previous …: then the same letters, or [ for a prompt",
    ),
    Key("transcript.next_prompt", "J", "prompt(1)", "Next prompt", "prompt"),
    Key("transcript.previous_prompt", "K", "prompt(-1)", "Previous prompt"),
    Key(
        "transcript.next_match",
        "n",
        "match(1)",
        "Next match: of what is found in this session, round and round; of a search, also in the next session",
        "match",
    ),
    Key("transcript.previous_match", "N", "match(-1)", "Previous match"),
    Key("transcript.first", "home,g", "first", "First message"),
    Key("transcript.last", "end,G", "follow", "The end, and follow what comes"),
)


def bindings(*contexts: str) -> list[BindingType]:
    """The Textual bindings of these contexts, for `BINDINGS`."""
    return [
        Binding(
            key.keys,
            key.action,
            key.hint or key.description,
            show=bool(key.hint),
            priority=key.priority,
            id=key.id,
            tooltip=key.description,
        )
        for key in KEYS
        if key.context in contexts
    ]


def key_label(keys: str) -> str:
    """How keys are written for people: `↵`, `space`, `?`, `ctrl+d`."""
    return " ".join(_one_label(key.strip()) for key in keys.split(",") if key.strip())


def _one_label(key: str) -> str:
    *modifiers, base = key.split("+") if key != "+" else [key]
    shown = {"enter": "↵", "space": "␣", "escape": "esc"}.get(base) or format_key(base)
    return "+".join([*modifiers, shown])
