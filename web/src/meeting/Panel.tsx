import { type ReactNode, useId } from "react";
import { Icon } from "../ui/Icon";

/** The frame of panels beside the stage. */
export function Panel({ title, children, onClose }: { title: string; children: ReactNode; onClose: () => void }) {
  const id = useId();
  return (
    <aside className="panel" aria-labelledby={id}>
      <header className="panel-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="icon-button" aria-label={`Close ${title.toLowerCase()}`} onClick={onClose}>
          <Icon name="close" size={18} />
        </button>
      </header>
      {children}
    </aside>
  );
}
