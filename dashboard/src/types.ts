// The documents of the API, written by scripts/generate_docs.py: run `make docs`.

export interface Action {
  reason?: string | null;
}

export interface AlertDocument {
  level: Level;
  code: string;
  about: string | null;
  sentence: string;
  hint: string;
}

export interface AttemptDocument {
  attempt: number;
  fence: number;
  worker: string | null;
  started_at: string | null;
  ended_at: string;
  ending: Ending;
  due_at: string | null;
  ready_at: string | null;
  error: ErrorDocument | null;
}

export interface AuditDocument {
  id: number;
  at: string;
  actor: string;
  action: string;
  target: string;
  details: Record<string, unknown>;
  previous_hash: string;
  hash: string;
}

export interface AuditPage {
  entries: AuditDocument[];
  cursor: number | null;
}

export interface BarDocument {
  begin: number;
  end: number;
  runs: number;
}

export interface BatchResult {
  status: number;
  job?: SubmittedDocument | null;
  problem?: Record<string, unknown> | null;
}

export interface BatchResults {
  results: BatchResult[];
}

export interface BatchSubmission {
  jobs: JobSubmission[];
}

export interface CallbackChange {
  url?: string | null;
  events?: string[] | null;
  pool?: string | null;
  enabled?: boolean | null;
  reason?: string | null;
}

export interface CallbackCreation {
  name: string;
  url: string;
  tenant?: string | null;
  events?: string[] | null;
  pool?: string | null;
  reason?: string | null;
}

export interface CallbackDocument {
  name: string;
  tenant: string | null;
  url: string;
  events: CallbackEvent[];
  pool: string;
  enabled: boolean;
  why_disabled: string | null;
  secrets: number;
  created_at: string | null;
  version: number;
}

export type CallbackEvent = "job.succeeded" | "job.dead" | "job.cancelled" | "job.expired" | "ping";

export interface CallbackPage {
  callbacks: CallbackDocument[];
  cursor: string | null;
}

export interface CancelReport {
  cancelled: number;
  asked: number;
}

export interface Cancellation {
  grace: number;
  reason?: string | null;
}

export interface CancelledDocument {
  id: string;
  state: State;
}

export type CatchUp = "none" | "last" | "all";

export interface ChangeReport {
  changed: number;
}

export interface CheckpointDocument {
  number: number;
  name: string;
  at: string;
  size: number;
  fence: number;
  version: number;
  resumptions: number;
}

export interface CreatedKeyDocument {
  id: string;
  name: string;
  scopes: Grant[];
  tenant: string | null;
  live: boolean;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  rate: number | null;
  key: string;
}

export interface DeadAction {
  done: string[];
  refused: RefusedDocument[];
}

export interface DeadChoice {
  ids?: string[] | null;
  filter?: DeadFilter | null;
  limit: number;
  reason: string;
}

export interface DeadCount {
  count: number;
}

export interface DeadFilter {
  type?: string | null;
  tenant?: string | null;
  pool?: string | null;
  fingerprint?: string | null;
  error_type?: string | null;
}

export interface DeadGroupDocument {
  fingerprint: string | null;
  type: string;
  error_type: string | null;
  message: string;
  sample: string;
  count: number;
  tenants: number;
  first_at: string;
  last_at: string;
  trend: number[];
}

export interface DeadGroups {
  groups: DeadGroupDocument[];
}

export interface DeadReplay {
  payload?: Record<string, unknown> | null;
  reason?: string | null;
}

export interface DeliveryDocument {
  id: number;
  delivery: string;
  job_id: string | null;
  message: string;
  event: string;
  attempt: number;
  status: number | null;
  took: number;
  error: string | null;
  at: string | null;
}

export interface DeliveryPage {
  deliveries: DeliveryDocument[];
  cursor: number | null;
}

export type Ending = "succeeded" | "failed" | "timed_out" | "snoozed" | "discarded" | "released" | "lost" | "cancelled" | "expired";

export interface ErrorDocument {
  type: string;
  message: string;
  failure: FailureClass | null;
  fingerprint: string | null;
  traceback?: string | null;
}

export interface ExplanationDocument {
  state: State;
  summary: string;
  reasons: ReasonDocument[];
  estimated_start: string | null;
}

export type FailureClass = "application" | "timeout" | "dependency" | "crash" | "resource" | "permanent" | "poison";

export interface FieldDocument {
  name: string;
  about: string;
}

export interface FireDocument {
  at: string;
  outcome: FireOutcome;
  times: number;
  manual: boolean;
  job_id: string | null;
  job_state: State | null;
}

export type FireOutcome = "fired" | "skipped" | "missed";

export interface Fires {
  fires: string[];
}

export interface FlawDocument {
  entry: number | null;
  message: string;
}

export type Grant = "enqueue" | "read" | "operate" | "admin";

export interface HealthDocument {
  level: Level;
  sentence: string;
  alerts: AlertDocument[];
  hints: string[];
  topics: TopicDocument[];
}

export interface HolderDocument {
  id: string;
  tenant: string;
  since: string;
  worker: string | null;
}

export interface HolderList {
  holders: HolderDocument[];
}

export interface JobChange {
  priority?: "critical" | "high" | "default" | "low" | null;
  run_at?: string | null;
  payload?: Record<string, unknown> | null;
  reason?: string | null;
}

export interface JobCounts {
  states: Record<string, number>;
}

export interface JobDetail {
  id: string;
  type: string;
  tenant: string;
  pool: string;
  priority: "critical" | "high" | "default" | "low";
  version: number;
  state: State;
  payload?: unknown;
  attempt: number;
  crashes: number;
  fence: number;
  created_at: string;
  run_at: string;
  not_after: string | null;
  started_at: string | null;
  finished_at: string | null;
  worker: string | null;
  result?: unknown;
  error: ErrorDocument | null;
  idempotency_key: string | null;
  parent: string | null;
  replays: number;
  callback: string | null;
  traceparent: string | null;
  options: Record<string, unknown> | null;
  progress: ProgressDocument | null;
  attempts_allowed: number | null;
  timeout: number | null;
  attempts: AttemptDocument[];
  timeline: MomentDocument[];
  checkpoints: CheckpointDocument[];
}

export interface JobDocument {
  id: string;
  type: string;
  tenant: string;
  pool: string;
  priority: "critical" | "high" | "default" | "low";
  version: number;
  state: State;
  payload?: unknown;
  attempt: number;
  crashes: number;
  fence: number;
  created_at: string;
  run_at: string;
  not_after: string | null;
  started_at: string | null;
  finished_at: string | null;
  worker: string | null;
  result?: unknown;
  error: ErrorDocument | null;
  idempotency_key: string | null;
  parent: string | null;
  replays: number;
  callback: string | null;
  traceparent: string | null;
  options: Record<string, unknown> | null;
  progress: ProgressDocument | null;
}

export interface JobPage {
  jobs: JobDocument[];
  cursor: string | null;
}

export interface JobSubmission {
  type: string;
  payload?: Record<string, unknown>;
  tenant?: string | null;
  pool?: string | null;
  priority: "critical" | "high" | "default" | "low";
  run_in?: number | null;
  run_at?: string | null;
  not_after?: string | null;
  idempotency_key?: string | null;
  idempotency_scope: "active" | "window" | "forever";
  idempotency_window?: number | null;
  timeout?: number | null;
  attempts?: number | null;
  retry?: RetryPolicy | null;
  exact?: boolean | null;
  parent?: string | null;
  callback?: string | null;
}

export interface KeyCreation {
  name: string;
  scopes: Grant[];
  tenant?: string | null;
  expires_in?: number | null;
  rate?: number | null;
  reason?: string | null;
}

export interface KeyDocument {
  id: string;
  name: string;
  scopes: Grant[];
  tenant: string | null;
  live: boolean;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  rate: number | null;
}

export interface KeyPage {
  keys: KeyDocument[];
  cursor: string | null;
}

export interface KindDocument {
  name: string;
  about: string;
  example: string;
  fields: FieldDocument[];
}

export interface KindList {
  kinds: KindDocument[];
}

export interface LedgerLine {
  minute: string | null;
  pool: string;
  tenant: string;
  entitled: number;
  delivered: number;
  reserved: number;
  waiting: number;
  ratio: number | null;
}

export type Level = "ok" | "warning" | "problem";

export interface LiveChoice {
  filter: LiveFilter;
  limit: number;
  reason: string;
}

export interface LiveFilter {
  states?: ("scheduled" | "ready" | "running" | "retrying")[];
  type?: string | null;
  tenant?: string | null;
  pool?: string | null;
  priority?: "critical" | "high" | "default" | "low" | null;
}

export interface MadeJob {
  schedule: string;
  job_id: string;
}

export interface MeDocument {
  id: string;
  name: string;
  tenant: string | null;
  scopes: Grant[];
  expires_at: string | null;
  rate: number | null;
}

export interface MinuteDocument {
  count: number;
  p50: number;
  p95: number;
  p99: number;
  at: number;
}

export interface MomentDocument {
  at: string;
  what: string;
  state: State | null;
  attempt: number | null;
  worker: string | null;
  took: number | null;
  by: string | null;
  note: string | null;
  error: ErrorDocument | null;
}

export type Overlap = "allow" | "skip" | "queue_one";

export interface PoolStatsDocument {
  pool: string;
  jobs: Record<string, number>;
  oldest_ready: number | null;
  workers: number;
  slots: number;
  running: number;
}

export interface PriorityChoice {
  filter: LiveFilter;
  limit: number;
  reason: string;
  priority: "critical" | "high" | "default" | "low";
}

export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  errors?: (Record<string, unknown>)[] | null;
}

export interface ProgressDocument {
  fraction: number;
  done: number;
  total: number | null;
  message: string;
  at: string;
}

export interface Purge {
  ids?: string[] | null;
  filter?: DeadFilter | null;
  older_than?: number | null;
  dry_run: boolean;
  reason: string;
}

export interface Purged {
  removed: number;
  would_remove?: number | null;
  refused: RefusedDocument[];
}

export interface ReasonDocument {
  code: string;
  words: string;
  data: Record<string, unknown>;
}

export interface RefusedCount {
  tenant: string;
  code: string;
  jobs: number;
}

export interface RefusedDocument {
  id: string;
  code: string;
  detail: string;
}

export interface RetryDocument {
  policy: Record<string, unknown>;
  attempts: StepDocument[];
}

export interface RetryPolicy {
  attempts?: number | null;
  backoff?: "list" | "fixed" | "linear" | "exponential" | "polynomial" | null;
  first?: number | null;
  factor?: number | null;
  power?: number | null;
  delays?: number[] | null;
  cap?: number | null;
  jitter?: "full" | "none" | "equal" | "proportional" | "decorrelated" | null;
  percent?: number | null;
  max_age?: number | null;
}

export interface RetryTerms {
  ratio: number | null;
  floor: number;
  window: number;
  beyond: string;
}

export interface Samples {
  samples: (Record<string, unknown>)[];
}

export interface ScheduleChange {
  payload?: Record<string, unknown> | null;
  tz?: string | null;
  tenant?: string | null;
  priority?: "critical" | "high" | "default" | "low" | null;
  pool?: string | null;
  timeout?: number | null;
  retry?: RetryPolicy | null;
  callback?: string | null;
  overlap?: Overlap | null;
  catch_up?: CatchUp | null;
  catch_up_window?: number | null;
  start_within?: number | null;
  reason?: string | null;
  expression?: string | null;
}

export interface ScheduleCreation {
  payload?: Record<string, unknown> | null;
  tz?: string | null;
  tenant?: string | null;
  priority?: "critical" | "high" | "default" | "low" | null;
  pool?: string | null;
  timeout?: number | null;
  retry?: RetryPolicy | null;
  callback?: string | null;
  overlap?: Overlap | null;
  catch_up?: CatchUp | null;
  catch_up_window?: number | null;
  start_within?: number | null;
  reason?: string | null;
  name: string;
  expression: string;
  type: string;
}

export interface ScheduleDocument {
  name: string;
  expression: string;
  tz: string;
  type: string;
  tenant: string;
  pool: string;
  priority: "critical" | "high" | "default" | "low";
  payload: unknown;
  overlap: Overlap;
  catch_up: CatchUp;
  catch_up_window: number;
  start_within: number | null;
  options: Record<string, unknown> | null;
  app: string | null;
  state: ScheduleState;
  next_fires: string[];
  fires: FireDocument[];
  version: number;
}

export interface SchedulePage {
  schedules: ScheduleDocument[];
  cursor: string | null;
}

export type ScheduleState = "active" | "paused" | "retired";

export interface SecretDocument {
  name: string;
  tenant: string | null;
  url: string;
  events: CallbackEvent[];
  pool: string;
  enabled: boolean;
  why_disabled: string | null;
  secrets: number;
  created_at: string | null;
  version: number;
  secret: string;
}

export interface SecretRotation {
  overlap: number;
  reason?: string | null;
}

export interface SentDocument {
  delivery: string;
  message: string;
}

export interface SettingBody {
  value?: Record<string, unknown>;
  reason?: string | null;
}

export interface SettingDocument {
  kind: string;
  name: string;
  value: Record<string, unknown> | null;
  state: Record<string, unknown>;
  version: number;
  set_at: string | null;
}

export interface SettingList {
  settings: SettingDocument[];
}

export interface ShareReport {
  window: number;
  jain: number | null;
  shares: LedgerLine[];
}

export interface SpreadDocument {
  count: number;
  p50: number;
  p95: number;
  p99: number;
}

export interface StageDocument {
  number: number;
  revived: number;
  refused: number;
  succeeded: number;
  failed_again: number;
  failed_otherwise: number;
  unfinished: number;
}

export interface StagedReplay {
  filter: DeadFilter;
  limit: number;
  patience: number;
  tolerance: number;
  reason: string;
}

export interface StagedReport {
  stages: StageDocument[];
  revived: number;
  refused: RefusedDocument[];
  stopped: string | null;
}

export type State = "created" | "scheduled" | "blocked" | "ready" | "enqueued" | "running" | "retrying" | "succeeded" | "dead" | "cancelled" | "expired";

export interface StatusDocument {
  health: HealthDocument;
  pools: PoolStatsDocument[];
  sample: Record<string, unknown> | null;
  waits: WaitTimes;
  refused: RefusedCount[];
}

export interface StepDocument {
  attempt: number;
  earliest: number;
  expected: number;
  latest: number;
}

export interface SubmissionRate {
  rate: number;
  burst: number;
}

export interface SubmittedDocument {
  id: string;
  type: string;
  tenant: string;
  pool: string;
  priority: "critical" | "high" | "default" | "low";
  state: State | null;
  duplicate: boolean;
  gone: boolean;
  shed: boolean;
  deferred: number | null;
  estimated_start: string | null;
}

export interface TenantDetail {
  name: string;
  tier: string;
  weight: number | null;
  minimum: number | null;
  set_up: boolean;
  waiting: number;
  since: string | null;
  version: number;
  effective_weight: number;
  effective_minimum: number;
  effective_most: number;
  depth: number | null;
  submission_rate: SubmissionRate | null;
  retry_budget: RetryTerms;
  ledger: LedgerLine[];
}

export interface TenantDocument {
  name: string;
  tier: string;
  weight: number | null;
  minimum: number | null;
  set_up: boolean;
  waiting: number;
  since: string | null;
  version: number;
}

export interface TenantList {
  tenants: TenantDocument[];
}

export interface TierDocument {
  name: string;
  weight: number;
  minimum: number;
  most: number;
  together: boolean;
}

export interface TierList {
  tiers: TierDocument[];
  default: string;
}

export interface TopicDocument {
  kind: string;
  name: string | null;
}

export interface TypeDetail {
  name: string;
  version: number;
  pool: string;
  place: string;
  payload_schema: Record<string, unknown>;
  settings: Record<string, unknown>;
  timeout: number | null;
  retries: Record<string, RetryDocument>;
  runs: SpreadDocument | null;
  histogram: BarDocument[] | null;
  events: TypeEventDocument[] | null;
}

export interface TypeDocument {
  name: string;
  version: number;
  pool: string;
  place: string;
  payload_schema: Record<string, unknown>;
  settings: Record<string, unknown>;
  timeout: number | null;
  retries: Record<string, RetryDocument>;
  runs: SpreadDocument | null;
  histogram: BarDocument[] | null;
}

export interface TypeEventDocument {
  at: string;
  by: string;
  what: string;
  old: string | null;
  new: string | null;
  why: string | null;
}

export interface TypeList {
  types: TypeDocument[];
}

export interface Verification {
  sound: boolean;
  entries: number;
  hash: string;
  flaws: FlawDocument[];
}

export interface WaitTimes {
  seconds: number;
  all: SpreadDocument | null;
  pools: Record<string, SpreadDocument>;
  minutes: MinuteDocument[];
}

export interface WorkerDocument {
  id: string;
  host: string;
  pid: number;
  pools: string[];
  types: string[];
  slots: number;
  version: string;
  started_at: string;
  state: string;
  live: boolean;
  lease_left: number;
  reserve: string[];
  report: Record<string, unknown>;
}

export interface WorkerList {
  workers: WorkerDocument[];
}
