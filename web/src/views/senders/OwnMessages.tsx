// Users other than the owner see the messages they submitted themselves.
import { useState } from "preact/hooks";
import { ApiError, api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import { EmptyState, QueryResult } from "../../parts/states";
import { useSession } from "../../shell/session";
import { Exchanges } from "./SenderDetail";
import { SubmitMessage } from "./SubmitMessage";

export function OwnMessages() {
  const session = useSession();
  const [round, setRound] = useState(0);
  const sender = `http:${session.user}`;
  const about = useQuery(`${sender} ${round}`, async (signal) => {
    try {
      return await unwrap(
        api.GET("/api/v1/senders/{sender}", { params: { path: { sender }, query: { limit: 1 } }, signal }),
      );
    } catch (error) {
      if (ApiError.of(error).status === 404) return null;
      throw error;
    }
  });
  return (
    <>
      <div class="head">
        <h1>Senders</h1>
        {session.scopes.includes("chat") && <SubmitMessage answered={() => setRound((round) => round + 1)} />}
        <p>Only the owner sees all senders. These are your own messages.</p>
      </div>
      <QueryResult query={about} what="Your messages">
        {(found) =>
          found ? (
            <Exchanges sender={sender} round={round} />
          ) : (
            <EmptyState title="No messages yet">
              <p>Submit one; the agent answers asynchronously. For an immediate answer, use the chat.</p>
            </EmptyState>
          )
        }
      </QueryResult>
    </>
  );
}
