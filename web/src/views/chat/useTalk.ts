// A conversation as the page shows it: the history, and what happens from then on, over a line that may be lost and comes back.
import { useCallback, useEffect, useState } from "preact/hooks";
import type { Refusal } from "../../api/client";
import { NOTHING, type Talk } from "../../parts/talk/fold";
import type { LineState } from "./line";
import type { Letter } from "./outbox";
import { type Asked, Room } from "./room";

export interface Talking {
  talk: Talk;
  line: LineState;
  /** Why the history can't be read. */
  refusal: Refusal | undefined;
  again: () => void;
  /** Reads what was said before. */
  earlier: () => Promise<void>;
  /** Sends what waits in the outbox. */
  post: () => void;
  /** Asks the server for something, such as to cancel. */
  ask: (request: Asked) => Promise<unknown>;
}

export interface Posted {
  /** A letter began this conversation, and is about to be said there. */
  begun: (letter: Letter, conversation: string) => void;
  /** A letter was taken in. */
  taken: () => void;
}

/** Whose token does not open `chat` reads, and has no line. */
export function useTalk(conversation: string | undefined, mayChat: boolean, posted: Posted): Talking {
  const [shown, setShown] = useState<{ of: string | undefined; talk: Talk }>({ of: conversation, talk: NOTHING });
  const [state, setState] = useState<LineState>("opening");
  const [refusal, setRefusal] = useState<Refusal>();
  const [room] = useState(() => new Room());
  room.begun = posted.begun;
  room.taken = posted.taken;
  useEffect(() => room.open({ shown: setShown, state: setState, refused: setRefusal }, mayChat), []);
  useEffect(() => room.enter(conversation), [conversation]);
  const talk = shown.of === conversation ? shown.talk : NOTHING;
  return {
    talk,
    line: state,
    refusal,
    again: useCallback(() => room.read(), []),
    earlier: useCallback(() => room.readEarlier(), []),
    post: useCallback(() => room.post(), []),
    ask: useCallback((request: Asked) => room.ask(request), []),
  };
}
