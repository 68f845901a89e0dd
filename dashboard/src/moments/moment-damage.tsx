import type { Difference } from "../api/openapi-types.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import { useRepair } from "./use-moments.ts";

interface Props {
  readonly name: string;
  readonly differences: readonly Difference[];
  readonly onRepaired: () => void;
}

/** Which files of a package are damaged, and what can be done about it. */
export function MomentDamage({ name, differences, onRepaired }: Props) {
  const repairing = useRepair(name, onRepaired);
  const outcome = repairing.data?.outcome;
  if (differences.length === 0) {
    const isRepaired = outcome === "repaired";
    return <p role="status">{isRepaired ? "Repaired: what was right in it is whole." : ""}</p>;
  }
  return (
    <div className="error-note moment-damage" role="alert">
      <p>
        <strong>This moment is damaged.</strong> What is right in it is still shown.
      </p>
      <ul>
        {differences.map(({ path, detail }) => (
          <li key={path}>{`${path}: ${detail}`}</li>
        ))}
      </ul>
      <p>
        Put these files back from a backup of the folder feedback/{name}. Or repair it: a new
        package is made of what is right, and the damaged one is kept in quarantine.
      </p>
      <Button isBusy={repairing.isPending} onClick={() => repairing.mutate()}>
        Repair
      </Button>
      {outcome === "not_repaired" ? (
        <p>It cannot be repaired: its feedback.json cannot be trusted. Nothing was changed.</p>
      ) : null}
      {repairing.isError ? <ErrorNote error={repairing.error} /> : null}
    </div>
  );
}
