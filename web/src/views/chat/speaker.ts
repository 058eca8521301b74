// Describes who speaks, in which situation, and with which trust.
import { useEffect, useState } from "preact/hooks";
import type { Occasions } from "../../parts/occasion";

const LEVELS = ["public", "familiar", "inner", "full"];

/** The lower of the user's trust and the situation's ceiling; undefined if this user may not know it. */
export function trustOf(
  known: Pick<Occasions, "users" | "situations"> | undefined,
  user: string,
  situation: string,
): string | undefined {
  const person = known?.users.find((one) => one.name === user)?.trust;
  const ceiling = known?.situations.find((one) => one.name === situation)?.ceiling;
  if (!person || !ceiling) return undefined;
  return LEVELS[Math.min(LEVELS.indexOf(person), LEVELS.indexOf(ceiling))];
}

export function situationText(situation: string): string {
  if (situation === "dm") return "in private";
  return situation === "group" ? "in the group" : `in the situation “${situation}”`;
}

/** For example "You speak as bob, in the group: familiar trust." */
export function speakerText(user: string, situation: string, trust: string | undefined, self: boolean): string {
  return `You speak as ${self ? `yourself (${user})` : user}, ${situationText(situation)}${trust ? `: ${trust} trust` : ""}.`;
}

const KEY = "foreword.speaker.";

/** The user this tab speaks as in a conversation, and a setter. */
export function useSpeaker(conversation: string | undefined): [string | undefined, (user: string | undefined) => void] {
  const [speaker, setSpeaker] = useState<string>();
  useEffect(
    () => setSpeaker(conversation ? (sessionStorage.getItem(KEY + conversation) ?? undefined) : undefined),
    [conversation],
  );
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
