;;; jumpseat-install.el --- Getting the jumpseat daemon  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `jumpseat-install' installs the daemon into a virtual environment of its own.  After the first
;; errors of a new user the next step is offered: install, sign in, or take the local model.

;;; Code:

(require 'jumpseat-account)

(defvar jumpseat-install--running nil "Whether an installation runs.")

(defvar jumpseat-installed-functions nil
  "Functions that are called when an installation has ended.
Their argument says whether it succeeded.")

(defun jumpseat-install--package ()
  "What is installed, as a requirement for pip."
  (cond ((null jumpseat-package) (format "jumpseat[local,keyring]==%s" jumpseat-version))
        ;; pip does not know what ~ means.
        ((string-prefix-p "~" jumpseat-package) (expand-file-name jumpseat-package))
        (t jumpseat-package)))

(defun jumpseat-install--aside (directory)
  "Where the environment in DIRECTORY is while another one is made there.
It works only in its own place."
  (concat directory ".before"))

(defun jumpseat-install--steps (directory)
  "The commands that make the environment in DIRECTORY, or nil without Python."
  (let* ((package (jumpseat-install--package))
         (python (expand-file-name (if (eq system-type 'windows-nt) "Scripts/python.exe"
                                     "bin/python")
                                   directory))
         (uv (jumpseat-find-program "uv"))
         (system (or (jumpseat-find-program "python3") (jumpseat-find-program "python"))))
    (cond
     (uv (list (list uv "venv" "--clear" "--python" ">=3.11" directory)
               (list uv "pip" "install" "--python" python package)))
     (system
      (list (list system "-c" (concat "import sys; sys.exit(sys.version_info < (3, 11)"
                                      " and 'Python 3.11 or newer is needed.')"))
            (list system "-m" "venv" "--clear" directory)
            (list python "-m" "pip" "install" "--disable-pip-version-check" "--progress-bar"
                  "off" package))))))

(defun jumpseat-install--end (ok format &rest arguments)
  "End the installation, which was OK or not: say FORMAT with ARGUMENTS."
  (setq jumpseat-install--running nil)
  (apply #'jumpseat-say format arguments)
  (run-hook-with-args 'jumpseat-installed-functions ok))

(defun jumpseat-install--failed (directory output)
  "End an installation into DIRECTORY, which failed with OUTPUT."
  ;; An incomplete environment would be found and started.
  (delete-directory directory t)
  (when (file-exists-p (jumpseat-install--aside directory))
    (rename-file (jumpseat-install--aside directory) directory))
  (jumpseat-install--end
   nil (concat "%s could not be installed: %s `jumpseat-package' names another version, or a checkout;"
               " %s has all of it.")
   (jumpseat-install--package)
   (replace-regexp-in-string "[^.!?]\\'" "\\&." (car (last (split-string output "\n"))))
   (substitute-command-keys "\\[jumpseat-log]")))

(defun jumpseat-install--step (directory commands number)
  "Run command NUMBER, from 1, of the list COMMANDS, which fill DIRECTORY."
  (let ((command (nth (1- number) commands)))
    (if (null command)
        (progn
          (delete-directory (jumpseat-install--aside directory) t)
          (jumpseat-install--end t "jumpseat %s is installed." jumpseat-version))
      (jumpseat-say "Installing jumpseat, step %d of %d …" number (length commands))
      (jumpseat-run-process
       command
       (lambda (code output)
         (if (eql code 0)
             (jumpseat-install--step directory commands (1+ number))
           (jumpseat-install--failed directory output)))))))

(defun jumpseat-install (&optional again)
  "Install the daemon into a virtual environment of its own.
With a prefix argument AGAIN, also if this version is installed."
  (interactive "P")
  (let* ((default-directory (jumpseat-local-directory))
         (directory (expand-file-name (jumpseat-install-directory)))
         (steps (jumpseat-install--steps directory)))
    (cond
     (jumpseat-install--running (jumpseat-say "The installation runs already."))
     ((and (not again) (executable-find (jumpseat-installed-program)))
      (jumpseat-say "jumpseat %s is installed; with a prefix argument it is installed again."
                    jumpseat-version))
     ((null steps)
      (jumpseat-say "Neither uv nor python3 was found: install Python 3.11 or newer."))
     (t
      (make-directory (file-name-directory directory) t)
      (when (file-exists-p directory)
        (delete-directory (jumpseat-install--aside directory) t)
        (rename-file directory (jumpseat-install--aside directory)))
      (setq jumpseat-install--running t)
      (jumpseat-install--step directory steps 1)))))

;;; Offers

(defun jumpseat-install--local-model ()
  "Install the local model."
  (jumpseat-say "Fetching the local model …")
  (jumpseat-run-process
   (append (jumpseat-program) '("local" "install"))
   (lambda (code output)
     (if (eql code 0)
         (jumpseat-say "The local model is installed. Send the question again.")
       (jumpseat-say "The local model was not installed: %s" output)))))

(defun jumpseat-install--offer (prompt &rest items)
  "Offer ITEMS, lists of a name and a function, or nothing, at PROMPT."
  (let ((choices (append items '(("Not now" ignore)))))
    (jumpseat-ui-choose (jumpseat-ui-prompt prompt choices) choices 'jumpseat-action #'funcall)))

(defun jumpseat-install--offer-after (err _reason)
  "Offer what helps after ERR, if no provider is ready or the program is missing."
  (cond
   ((null err))
   (jumpseat-install--running
    (jumpseat-say "jumpseat is being installed: send the question again afterwards."))
   ((null (jumpseat-program))
    (jumpseat-install--offer "jumpseat is not installed"
                             '("Install jumpseat" jumpseat-install)))
   ((equal "authentication" (jumpseat-get err :data :kind))
    (jumpseat-models-providers
     (lambda (failure providers)
       (unless (or failure
                   (seq-some (lambda (each) (jumpseat-true-p (plist-get each :configured)))
                             providers))
         (jumpseat-install--offer "No provider is ready"
                                  '("Sign in" jumpseat-login)
                                  '("Install the local model" jumpseat-install--local-model))))))))

;; The offer is made before functions of the user are called, which may fail.
(add-hook 'jumpseat-turn-ended-functions #'jumpseat-install--offer-after -90)

(provide 'jumpseat-install)
;;; jumpseat-install.el ends here
