// SPDX-License-Identifier: Apache-2.0
// What all plots have around their drawing: a title, the read-out, a button that ends the zoom, and
// the same numbers as a table.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Table {
  head: string[];
  rows: string[][];
}

/** Handlers for the element around the drawing. The drawing has pointer handlers of its own. */
interface Acts {
  onKeyDown: (event: KeyboardEvent) => void;
  onDblClick: () => void;
  onBlur: () => void;
}

interface Props {
  title: string;
  showsTitle: boolean;
  readOut: ComponentChildren;
  /**
   * Keeps two lines for the read-out on a phone, so that the plot does not move under the finger.
   */
  isLong: boolean;
  /** What a screen reader says after a key. */
  spoken: string;
  isZoomed: boolean;
  onReset: () => void;
  table: () => Table;
  acts: Acts;
  /** Draws the plot at a width in CSS pixels. */
  children: (width: number) => ComponentChildren;
}

export function Frame(props: Props) {
  const { title, showsTitle, readOut, isLong, spoken } = props;
  const { isZoomed, onReset, table, acts, children } = props;
  const parent = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = parent.current;
    if (!element) return;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <figure class="plot">
      <figcaption>
        {showsTitle && <h3>{title}</h3>}
        <p class={isLong ? "read-out long" : "read-out"}>{readOut}</p>
      </figcaption>
      <div class="plot-area">
        <div
          ref={parent}
          class="plot-drawing"
          tabIndex={0}
          role="application"
          aria-label={`${title}. Arrow keys read values, plus and minus zoom, 0 shows all.`}
          {...acts}
        >
          {width > 0 && children(width)}
        </div>
        {isZoomed && (
          <button type="button" class="plot-reset" onClick={onReset}>
            Show all
          </button>
        )}
      </div>
      <output class="unseen" aria-live="polite">
        {spoken}
      </output>
      <Numbers title={title} table={table} />
    </figure>
  );
}

/** Makes the rows only while the table is open. */
function Numbers({ title, table }: { title: string; table: () => Table }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        Table<span class="unseen"> of {title}</span>
      </summary>
      {isOpen && <TableOf title={title} {...table()} />}
    </details>
  );
}

function TableOf({ title, head, rows }: Table & { title: string }) {
  return (
    <div class="plot-table" tabIndex={0} role="region" aria-label={`Table of ${title}`}>
      <table>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...rest]) => (
            <tr key={first}>
              <th scope="row">{first}</th>
              {rest.map((value, i) => (
                <td key={i}>{value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
