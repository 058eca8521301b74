// Webhook deliveries to bridges: pending and failed ones, with a retry button.
import { useState } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { usePages } from "../../api/pages";
import { useInterval } from "../../api/query";
import type { DeliveryItem } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { CodeText } from "../../parts/code_text";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { count, Timestamp } from "../../parts/format";
import { PagedList } from "../../parts/list";
import { ScrollContainer } from "../../parts/scroll_container";
import { EmptyState } from "../../parts/states";
import { toast, toastError } from "../../parts/toast";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { POLL_INTERVAL_MS } from "./server_status";

const PAGE_SIZE = 50;

export function Deliveries() {
  const pages = usePages<DeliveryItem>("deliveries", (after, signal) =>
    unwrap(api.GET("/api/v1/channels/deliveries", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
  useInterval(POLL_INTERVAL_MS, () => pages.items.length <= PAGE_SIZE && pages.refresh());
  return (
    <PagedList
      pages={pages}
      what="Deliveries"
      empty={
        <EmptyState title="No deliveries.">
          <p>Answers to messages from bridges are delivered here.</p>
        </EmptyState>
      }
    >
      {(items) => (
        <ScrollContainer label="Deliveries">
          <table>
            <thead>
              <tr>
                <th scope="col">Channel</th>
                <th scope="col">State</th>
                <th scope="col" class="number">
                  Attempts
                </th>
                <th scope="col">Created</th>
                <th scope="col">What happened</th>
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <Delivery key={item.id} item={item} reload={pages.reload} />
              ))}
            </tbody>
          </table>
        </ScrollContainer>
      )}
    </PagedList>
  );
}

function Delivery({ item, reload }: { item: DeliveryItem; reload: () => void }) {
  const { scopes } = useSession();
  const [busy, setBusy] = useState(false);
  const retry = async () => {
    setBusy(true);
    try {
      await unwrap(api.POST("/api/v1/channels/deliveries/{id}/retry", { params: { path: { id: item.id } } }));
      toast(`Retrying the delivery to ${item.channel}.`);
      reload();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <tr>
      <th scope="row" class="name wrap">
        {item.channel}
        <span class="line">
          <a href={href("conversations", [item.conversation])}>
            <ConversationName of={{ id: item.conversation }} />
          </a>
        </span>
      </th>
      <td>
        <StateBadge of={item.status} />
        {item.status === "waiting" && (
          <span class="quiet line">
            next attempt <Timestamp at={item.dueAt} />
          </span>
        )}
      </td>
      <td class="number">{count(item.attempts)}</td>
      <td>
        <Timestamp at={item.createdAt} />
      </td>
      <td class="wrap">
        {item.error ? <CodeText words={item.error} /> : <span class="quiet">no error</span>}
        {item.turn && (
          <span class="line">
            <a href={href("trace", [item.turn])}>Trace</a>
          </span>
        )}
      </td>
      <td>
        {item.status !== "delivered" && scopes.includes("admin") && (
          <button type="button" onClick={retry} disabled={busy} aria-label={`Retry the delivery to ${item.channel}`}>
            {busy ? "Retrying …" : "Retry"}
          </button>
        )}
      </td>
    </tr>
  );
}
