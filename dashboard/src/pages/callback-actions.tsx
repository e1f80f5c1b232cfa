import { send } from "../api";
import { ActionButton, numberOf, severalOf, textOf, type Field } from "../parts/feedback";
import { useRefresh } from "../parts/query";
import { go } from "../router";
import { EVENTS, pathOf, type Delivery, type Endpoint } from "./callback-types";

export interface Made {
  name: string;
  secret: string;
}

type ShowSecret = (made: Made) => void;

const HOUR = 3600; // seconds
const ENDS = EVENTS.map((event) => [event, event.replace("job.", "")] as const);

function fieldsOf(endpoint?: Endpoint): Field[] {
  return [
    { name: "url", label: "URL", value: endpoint?.url ?? "", required: true, hint: "https, at an address that your workers may call." },
    { name: "events", label: "It is told of jobs that end as", kind: "several", choices: ENDS, value: (endpoint?.events ?? EVENTS).join(",") },
    { name: "pool", label: "Pool whose workers deliver", value: endpoint?.pool ?? "", hint: endpoint ? "" : "Empty: short." },
  ];
}

export function AddEndpoint({ tenant, made }: { tenant: string | null; made: ShowSecret }) {
  const refresh = useRefresh();
  const whose: Field[] = tenant === null ? [{ name: "tenant", label: "Tenant", hint: "Empty: jobs of all tenants can name it." }] : [];
  return (
    <ActionButton
      question={{
        title: "Add an endpoint",
        what: "It is given a secret, which is shown once. Jobs name the endpoint when they are submitted.",
        label: "Add an endpoint",
        fields: [{ name: "name", label: "Name", required: true, hint: "Letters, digits and _ . -" }, ...whose, ...fieldsOf()],
        run: async (reason, values) => {
          const body = {
            name: values["name"]?.trim(),
            url: values["url"]?.trim(),
            tenant: textOf(values["tenant"]),
            events: severalOf(values["events"]),
            pool: textOf(values["pool"]),
            reason: textOf(reason),
          };
          made(await send<Made>("POST", "/v1/callbacks", body));
        },
        done: refresh,
      }}
    />
  );
}

export function EndpointActions({ endpoint, made }: { endpoint: Endpoint; made: ShowSecret }) {
  const refresh = useRefresh();
  const { name, enabled } = endpoint;
  const turn = (on: boolean) => (reason: string) => send("PATCH", pathOf(endpoint), { enabled: on, reason: textOf(reason) });
  return (
    <div class="actions">
      <ActionButton
        disabled={!enabled}
        question={{
          title: `Send a ping to ${name}`,
          what: "A worker delivers it like every callback; what came of it is in the log below.",
          label: "Send a ping",
          run: (reason) => send("POST", pathOf(endpoint, "/ping"), { reason: textOf(reason) }),
          told: () => "The ping is on its way",
          done: refresh,
        }}
      />
      <ActionButton
        question={{
          title: `Change ${name}`,
          what: "What is on its way already goes to the new URL too.",
          label: "Change",
          fields: fieldsOf(endpoint),
          run: (reason, values) =>
            send("PATCH", pathOf(endpoint), { url: values["url"]?.trim(), events: severalOf(values["events"]), pool: textOf(values["pool"]), reason: textOf(reason) }),
          done: refresh,
        }}
      />
      <ActionButton
        question={{
          title: `Rotate the secret of ${name}`,
          what: "The new secret is shown once. Until the overlap is over, callbacks are signed with the old one too.",
          label: "Rotate the secret",
          fields: [{ name: "hours", label: "Hours that the old secret signs too", kind: "number", value: 24, min: 0, max: 720, required: true, hint: "0: it ends at once, for a secret that has leaked." }],
          run: async (reason, values) => {
            const overlap = (numberOf(values["hours"]) ?? 0) * HOUR;
            made(await send<Made>("POST", pathOf(endpoint, "/rotate-secret"), { overlap, reason: textOf(reason) }));
          },
          done: refresh,
        }}
      />
      {enabled ? (
        <ActionButton
          question={{
            title: `Disable ${name}`,
            what: "While it is disabled nothing is made for it, and what is on its way is dropped.",
            label: "Disable",
            danger: true,
            run: turn(false),
            done: refresh,
          }}
        />
      ) : (
        <ActionButton question={{ title: `Enable ${name}`, what: "It is told of jobs that end from now on.", label: "Enable", run: turn(true), done: refresh }} />
      )}
      <ActionButton
        question={{
          title: `Remove ${name}`,
          what: "Its secrets and its log go with it, and what is on its way to it is dropped. Jobs that name it are told to nobody.",
          label: "Remove",
          danger: true,
          run: (reason) => send("DELETE", pathOf(endpoint), { reason: textOf(reason) }),
          told: () => `${name} is removed`,
          done: () => {
            go("/callbacks");
            refresh();
          },
        }}
      />
    </div>
  );
}

export function Redeliver({ endpoint, delivery }: { endpoint: Endpoint; delivery: Delivery }) {
  const refresh = useRefresh();
  return (
    <ActionButton
      disabled={!endpoint.enabled}
      question={{
        title: `Send ${delivery.event} again`,
        what: "It goes out once more with the same body and the same webhook-id, so that the receiver can tell that it had it.",
        label: "Redeliver",
        run: (reason) => send("POST", pathOf(endpoint, `/deliveries/${encodeURIComponent(delivery.delivery)}/redeliver`), { reason: textOf(reason) }),
        told: () => "It is on its way again",
        done: refresh,
      }}
    />
  );
}
