// Who speaks, where, and how far they are trusted there, in words.
import { useEffect, useState } from "preact/hooks";
import type { Occasions } from "../../parts/occasion";

const LEVELS = ["public", "familiar", "inner", "full"];

/** The lower of what the person may and what the place allows; undefined if this reader is not told. */
export function trustOf(known: Pick<Occasions, "users" | "situations"> | undefined, user: string, situation: string): string | undefined {
  const person = known?.users.find((one) => one.name === user)?.trust;
  const place = known?.situations.find((one) => one.name === situation)?.ceiling;
  if (!person || !place) return undefined;
  return LEVELS[Math.min(LEVELS.indexOf(person), LEVELS.indexOf(place))];
}

export function placeWords(situation: string): string {
  if (situation === "dm") return "in private";
  return situation === "group" ? "in the group" : `in the situation “${situation}”`;
}

/** Such as: You speak as bob, in the group: familiar trust. */
export function speakerWords(user: string, situation: string, trust: string | undefined, self: boolean): string {
  return `You speak as ${self ? `yourself (${user})` : user}, ${placeWords(situation)}${trust ? `: ${trust} trust` : ""}.`;
}

const KEY = "foreword.speaker.";

/** Whom this tab speaks as in a conversation, if it is somebody else, and the way to change it. */
export function useSpeaker(conversation: string | undefined): [string | undefined, (user: string | undefined) => void] {
  const [speaker, setSpeaker] = useState<string>();
  useEffect(() => setSpeaker(conversation ? (sessionStorage.getItem(KEY + conversation) ?? undefined) : undefined), [conversation]);
  const choose = (user: string | undefined) => {
    setSpeaker(user);
    if (conversation) rememberSpeaker(conversation, user);
  };
  return [speaker, choose];
}

export function rememberSpeaker(conversation: string, user: string | undefined): void {
  if (user) sessionStorage.setItem(KEY + conversation, user);
  else sessionStorage.removeItem(KEY + conversation);
}
