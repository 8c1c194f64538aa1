/** The error class of the option `maintenance`. The rules of errors.ts apply. */

import { type ErrorCode, SluiceError } from "../errors";
import { label } from "../util/label";

/**
 * With `maintenance: "on"`, the server refused to announce maintenance. The client works without notices.
 *
 * @advice remove the option `maintenance`, or allow the user CLIENT MAINT_NOTIFICATIONS
 * @section connections
 */
export class MaintenanceRefusedError extends SluiceError {
  constructor(server: string, cause: Error) {
    super(
      `${server} refused CLIENT MAINT_NOTIFICATIONS: "${cause.message}". Remove the option "maintenance", or allow the user this command. The client works without notices of maintenance.`,
      { cause },
    );
  }
}

label<ErrorCode>(null, { MAINTENANCE_REFUSED: { MaintenanceRefusedError } });
