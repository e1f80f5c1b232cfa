import { Link } from "../parts/link";
import { shortId, StateBadge, When } from "../parts/text";
import type { JobDocument as Job } from "../types";

interface Props {
  jobs: Job[];
  chosen?: ReadonlySet<string> | undefined; // with these, jobs can be chosen
  choose?: (chosen: ReadonlySet<string>) => void;
}

export function JobTable({ jobs, chosen, choose }: Props) {
  const all = chosen !== undefined && jobs.every((job) => chosen.has(job.id));
  const toggle = (id: string) => {
    const changed = new Set(chosen);
    if (!changed.delete(id)) changed.add(id);
    choose?.(changed);
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Jobs">
      <table>
        <thead>
          <tr>
            {chosen && (
              <th>
                <input type="checkbox" aria-label="Choose all shown" checked={all} onChange={() => choose?.(new Set(all ? [] : jobs.map((job) => job.id)))} />
              </th>
            )}
            <th>Job</th>
            <th>State</th>
            <th>Type</th>
            <th>Tenant</th>
            <th>Pool</th>
            <th>Priority</th>
            <th class="number">Attempt</th>
            <th>Created</th>
            <th>Ended</th>
            <th>Error</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.id}>
              {chosen && (
                <td>
                  <input type="checkbox" aria-label={`Choose ${shortId(job.id)}`} checked={chosen.has(job.id)} onChange={() => toggle(job.id)} />
                </td>
              )}
              <td>
                <Link to={`/jobs/${job.id}`} class="mono">
                  {shortId(job.id)}
                </Link>
              </td>
              <td>
                <StateBadge state={job.state} />
              </td>
              <td class="cut">{job.type}</td>
              <td class="cut">{job.tenant}</td>
              <td>{job.pool}</td>
              <td>{job.priority}</td>
              <td class="number">{job.attempt}</td>
              <td>
                <When at={job.created_at} />
              </td>
              <td>
                <When at={job.finished_at} />
              </td>
              <td class="cut">{job.error ? `${job.error.type}: ${job.error.message}` : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
