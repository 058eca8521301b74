// Who is not the owner sees what they have left themselves.
import { useState } from "preact/hooks";
import { useAsking } from "../../api/asking";
import { Refusal, api, asked } from "../../api/client";
import { Answered, Empty } from "../../parts/told";
import { useSession } from "../../shell/session";
import { Leave } from "./Leave";
import { Exchanges } from "./One";

export function Own() {
  const session = useSession();
  const [round, setRound] = useState(0);
  const sender = `http:${session.user}`;
  const about = useAsking(`${sender} ${round}`, async (signal) => {
    try {
      return await asked(api.GET("/api/v1/senders/{sender}", { params: { path: { sender }, query: { limit: 1 } }, signal }));
    } catch (error) {
      if (Refusal.of(error).status === 404) return null;
      throw error;
    }
  });
  return (
    <>
      <div class="head">
        <h1>Senders</h1>
        {session.scopes.includes("chat") && <Leave answered={() => setRound((round) => round + 1)} />}
        <p>Who else writes to the agent is the owner's to see. Here are the messages that you have left yourself.</p>
      </div>
      <Answered asking={about} what="Your messages">
        {(found) => (found ? <Exchanges sender={sender} round={round} /> : <Empty title="You have left no messages"><p>Leave one, and the agent answers in its own time. To talk at once, use the chat.</p></Empty>)}
      </Answered>
    </>
  );
}
