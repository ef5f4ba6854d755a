import type { LocalTrack, RemoteTrack, Track } from "livekit-client";
import { useEffect, useState } from "react";
import { Meter, type Reading } from "./readings";

/** A reading, and how the rate was before it. */
export interface Measured {
  reading: Reading;
  /** Bits per second, oldest first, one for each second. */
  rates: number[];
}

const READ_EVERY_MS = 1000;
const RATES_MAX = 60;

/** Reads a track's statistics every second while it is shown. */
export function useReading(track: Track | undefined): Measured | undefined {
  const [measured, setMeasured] = useState<Measured>();
  useEffect(() => {
    setMeasured(undefined);
    if (!track) return;
    const meter = new Meter();
    let rates: number[] = [];
    let here = true;
    const read = async () => {
      const report = await (track as LocalTrack | RemoteTrack).getRTCStatsReport().catch(() => undefined);
      const reading = report && meter.read(report);
      if (!here || !reading) return;
      rates = [...rates, reading.rate].slice(-RATES_MAX);
      setMeasured({ reading, rates });
    };
    void read();
    const timer = setInterval(() => void read(), READ_EVERY_MS);
    return () => {
      here = false;
      clearInterval(timer);
    };
  }, [track]);
  return measured;
}
