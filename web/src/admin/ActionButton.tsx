import { useRef, useState } from "react";

interface Properties {
  /** The action, as `Close the room`. */
  words: string;
  /** The question that confirms it. */
  question: string;
  act(): Promise<void>;
  onDone(): void;
}

/** A button for an action that cannot be undone: it asks first. */
export function ActionButton({ words, question, act, onDone }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string>();
  const [isActing, setIsActing] = useState(false);
  const confirm = () => {
    setIsActing(true);
    setError(undefined);
    act()
      .then(
        () => {
          dialog.current?.close();
          onDone();
        },
        (refusal: Error) => setError(refusal.message),
      )
      .finally(() => setIsActing(false));
  };
  return (
    <>
      <button type="button" className="admin-button danger" onClick={() => dialog.current?.showModal()}>
        {words}
      </button>
      <dialog ref={dialog} className="admin-dialog" aria-label={words} onClose={() => setError(undefined)}>
        <p>{question}</p>
        {error && <p role="alert">{error}</p>}
        <div className="admin-row">
          <button type="button" className="admin-button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="button" className="admin-button danger" disabled={isActing} onClick={confirm}>
            {words}
          </button>
        </div>
      </dialog>
    </>
  );
}
