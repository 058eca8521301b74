// Where the line, the history and the outbox of one page come together. Knows nothing of how it is shown.
import { Refusal } from "../../api/client";
import type { AnswerRequest, CancelRequest, MessageBody } from "../../api/schema";
import { toast } from "../../parts/toast";
import { type Event, type Item, NOTHING, type Talk, fold } from "../../parts/talk/fold";
import { readMessages } from "../../parts/talk/history";
import { Line, type LineState } from "./line";
import { type Letter, outbox } from "./outbox";
import { send } from "./sending";

/** How often what comes is shown, at most: words come faster than anybody reads. */
const SHOW_EVERY = 30;
/** How long the line has before the history is shown without it. */
const PATIENCE = 1_500;
/** When a message that could not be taken in for now is tried again. */
const AGAIN = 1_500;

/** What is asked of the conversation that is shown. */
export type Asked = Omit<CancelRequest, "sessionId"> | Omit<AnswerRequest, "sessionId">;

export interface Shows {
  shown: (shown: { of: string | undefined; talk: Talk }) => void;
  state: (state: LineState) => void;
  refused: (refusal: Refusal | undefined) => void;
}

export class Room {
  begun: (letter: Letter, conversation: string) => void = () => undefined;
  taken: () => void = () => undefined;
  private line: Line | undefined;
  private shows: Shows | undefined;
  private conversation: string | undefined;
  private talk: Talk = NOTHING;
  private showing: ReturnType<typeof setTimeout> | undefined;
  private reading: ReturnType<typeof setTimeout> | undefined;
  private posting = false;
  /** How many requests to look on are under way. */
  private joining = 0;
  /** Whether we have looked on at this conversation before. */
  private joined = false;

  open(shows: Shows, mayChat: boolean): () => void {
    this.shows = shows;
    if (mayChat) this.line = this.call(shows);
    return () => {
      this.shows = undefined;
      this.conversation = undefined;
      clearTimeout(this.showing);
      clearTimeout(this.reading);
      this.line?.close();
    };
  }

  private call(shows: Shows): Line {
    return new Line({
      item: (item) => this.happened(item),
      state: (state) => shows.state(state),
      open: () => {
        void this.join();
        this.post();
      },
    });
  }

  enter(conversation: string | undefined): void {
    const left = this.conversation;
    if (left && left !== conversation) void this.line?.ask({ type: "unsubscribe", sessionId: left }).catch(() => undefined);
    this.conversation = conversation;
    this.talk = NOTHING;
    this.joined = false;
    this.shows?.refused(undefined);
    this.show();
    if (!conversation) return;
    void this.join();
    this.readIn(this.line ? PATIENCE : 0);
  }

  ask(request: Asked): Promise<unknown> {
    return (this.conversation && this.line?.ask({ ...request, sessionId: this.conversation })) || Promise.reject(new Refusal("line_lost", "There is no connection now."));
  }

  /** Looks on from behind the last number that was read, and reads the history once it does. */
  private async join(): Promise<void> {
    const conversation = this.conversation;
    if (!conversation || !this.line?.isOpen) return;
    this.joining += 1;
    try {
      const asking = this.line.ask({ type: "subscribe", sessionId: conversation, after: this.talk.last });
      const joined = await asking.finally(() => (this.joining -= 1));
      if (joined.type !== "subscribed" || conversation !== this.conversation || this.joined) return;
      this.joined = true;
      this.fold({ type: "joined", last: joined.last });
      this.read();
    } catch (error) {
      const { code } = Refusal.of(error);
      if (code !== "after_too_high" || conversation !== this.conversation) return;
      // It is not the conversation it was: somebody put an older database back.
      this.talk = NOTHING;
      this.joined = false;
      void this.join();
    }
  }

  private happened(item: Item): void {
    // What comes before the answer to `subscribe` is from further on than where we asked to begin, and comes again.
    if (item.sessionId !== this.conversation || this.joining > 0) return;
    // How it goes with the server itself, told once.
    if (item.type === "status" && !item.turnId && (item.seq ?? 0) > Math.max(this.talk.since, this.talk.last)) toast(item.message);
    this.fold(item);
  }

  private fold(event: Event): void {
    const before = this.talk.wants;
    this.talk = fold(this.talk, event);
    if (this.talk.wants > before && this.talk.loaded) this.readIn(150);
    this.showing ??= setTimeout(() => this.show(), SHOW_EVERY);
  }

  private show(): void {
    clearTimeout(this.showing);
    this.showing = undefined;
    this.shows?.shown({ of: this.conversation, talk: this.talk });
  }

  private readIn(ms: number): void {
    clearTimeout(this.reading);
    this.reading = setTimeout(() => this.read(), ms);
  }

  read(): void {
    clearTimeout(this.reading);
    const conversation = this.conversation;
    if (!conversation) return;
    readMessages(conversation).then(
      (page) => {
        if (conversation !== this.conversation) return;
        this.shows?.refused(undefined);
        this.fold({ type: "read", items: page.items, next: page.next });
      },
      (error: unknown) => conversation === this.conversation && this.shows?.refused(Refusal.of(error)),
    );
  }

  async readEarlier(): Promise<void> {
    const { conversation, talk } = this;
    if (!conversation || talk.earlier === null) return;
    const page = await readMessages(conversation, talk.earlier);
    if (conversation !== this.conversation) return;
    this.fold({ type: "read", items: page.items, next: page.next, earlier: true });
    this.show();
  }

  /** Sends what waits; what can't be sent now is tried again when the line is back, or in a moment. */
  post(): void {
    const line = this.line;
    if (!line || this.posting || outbox.all().length === 0) return;
    this.posting = true;
    const done = send(line, {
      begun: (letter, conversation) => {
        // Whoever has gone to another view is told when they are back.
        if (!this.shows) return;
        outbox.arrived(conversation);
        this.begun(letter, conversation);
      },
      taken: ({ letter, conversation, message }) => {
        if (conversation === this.conversation) {
          this.fold({ type: "accepted", message: written(letter, message) });
          // Whoever speaks as somebody else looks on as themselves.
          void this.join();
        }
        this.taken();
      },
    });
    void done.finally(() => (this.posting = false)).then((how) => how === "again" && setTimeout(() => line.isOpen && this.post(), AGAIN));
  }
}

/** A letter as a message, until the history has it. */
function written(letter: Letter, id: string): MessageBody {
  return { seq: 0, id, role: "user", kind: "message", author: letter.author, trust: "", at: letter.at, turn: null, covered: false, content: [{ type: "text", text: letter.text }] };
}
