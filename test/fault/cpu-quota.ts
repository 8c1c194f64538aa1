/** A control group of Linux with a limit of CPU time, as container platforms set it. */

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = "/sys/fs/cgroup";
const PERIOD_MICROS = 100_000;

export class CpuQuota {
  private constructor(private readonly folder: string) {}

  static isPermitted(): boolean {
    try {
      CpuQuota.create(1).remove();
      return true;
    } catch {
      return false;
    }
  }

  /** @param share The CPU time that the group may use, in cores. */
  static create(share: number): CpuQuota {
    const quotaMicros = Math.round(share * PERIOD_MICROS);
    const isUnified = existsSync(join(ROOT, "cgroup.controllers"));
    const group = new CpuQuota(join(ROOT, isUnified ? "" : "cpu", `sluice-test-${process.pid}`));
    mkdirSync(group.folder);
    try {
      if (isUnified) group.write("cpu.max", `${quotaMicros} ${PERIOD_MICROS}`);
      else {
        group.write("cpu.cfs_period_us", String(PERIOD_MICROS));
        group.write("cpu.cfs_quota_us", String(quotaMicros));
      }
      return group;
    } catch (error) {
      group.remove();
      throw error;
    }
  }

  add(pid: number): void {
    this.write("cgroup.procs", String(pid));
  }

  /** All processes of the group must have ended. */
  remove(): void {
    rmdirSync(this.folder);
  }

  private write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }
}
