// Schedules as the API has them.

export interface Fire {
  at: string;
  outcome: string;
  times: number;
  manual: boolean;
  job_id: string | null;
  job_state: string | null;
}

export interface Schedule {
  name: string;
  expression: string;
  tz: string;
  type: string;
  tenant: string;
  pool: string;
  priority: string;
  payload: unknown;
  overlap: string;
  catch_up: string;
  app: string | null;
  state: string;
  version: number;
  next_fires: string[];
  fires: Fire[];
}
